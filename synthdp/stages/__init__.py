"""The stages of a run, each on one page: read, plan, draw, judge, assess, advise, publish."""
