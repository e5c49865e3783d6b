"""The default engine for real columns: own margins, a regression where it predicts better, trees for the rest."""
