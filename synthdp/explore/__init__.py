"""The workbench in the browser, on this machine only; it is all that imports Dash (the extra ``explore``)."""
