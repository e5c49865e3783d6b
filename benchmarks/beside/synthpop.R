# What benchmarks/peers.py times: file to judged copies by synthpop. Rscript synthpop.R FILE KEY,KEY
suppressPackageStartupMessages(library(synthpop))
lap <- function(name, work) {
  took <- system.time(value <- work)
  cat("\nSTAGE", name, sum(took[c(1, 2, 4, 5)], na.rm = TRUE), took[["elapsed"]], "\n"); flush(stdout()); value
}
given <- commandArgs(TRUE)
keys <- strsplit(given[2], ",")[[1]]
data <- lap("read", read.csv(given[1], stringsAsFactors = TRUE))
made <- lap("syn", syn(data, method = "cart", m = 5, seed = 1, print.flag = FALSE))
group <- function(names) ifelse(sapply(data[names], is.numeric), 20, 0)
x <- lap("compare", compare(made, data, plot = FALSE, print.flag = FALSE))
x <- lap("utility.tables", utility.tables(made, data, plot = FALSE, print.flag = FALSE))
x <- lap("multi.disclosure", multi.disclosure(made, data, keys = keys, ngroups_keys = group(keys),
  ngroups_targets = group(setdiff(names(data), keys)), plot = FALSE, print.flag = FALSE))
x <- lap("utility.gen", utility.gen(made, data, print.every = 1))
