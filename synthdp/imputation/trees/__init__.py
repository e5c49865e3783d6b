"""Classification and regression trees on binned predictors; leaves keep their donors."""
