# The study's files by R synthpop: Rscript synthpop.R FILE FOLDER SEEDS COPIES
suppressPackageStartupMessages(library(synthpop))
given <- commandArgs(TRUE)
people <- read.csv(given[1])
replaced <- c("Gender", "NewWhite", "MoreThanHighSchool", "Age_raw")
unseen <- c("BaselineILD", "OneYearILD")
levels_of <- names(people)[sapply(people, function(x) all(x %in% c(0, 1, NA)))]
people[levels_of] <- lapply(people[levels_of], factor)
seen <- people[setdiff(names(people), unseen)]

# columns that are kept come first in the visit, so that every replaced column may depend on all of them
some <- function(of) {
  methods <- setNames(rep("", ncol(seen)), names(seen))
  methods[replaced] <- ifelse(replaced %in% levels_of, of[1], of[2])
  function(seed) {
    made <- syn(seen, method = methods, visit.sequence = c(setdiff(names(seen), replaced), replaced),
      m = as.integer(given[4]), seed = seed, print.flag = FALSE)
    # rows stay where they are, so what the models must not see is put back beside them
    lapply(made$syn, function(copy) cbind(copy, people[unseen]))
  }
}
all_of_it <- function(seed) {
  syn(people, method = "cart", m = as.integer(given[4]), seed = seed, print.flag = FALSE)$syn
}
methods <- list(synthpop_cart = some(c("cart", "cart")), synthpop_norm_logit = some(c("logreg", "norm")),
  synthpop_full = all_of_it)
for (name in names(methods)) for (seed in seq_len(as.integer(given[3]))) {
  folder <- file.path(given[2], name, sprintf("seed_%02d", seed))
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  copies <- methods[[name]](seed)
  for (k in seq_along(copies)) {
    write.csv(copies[[k]][names(people)], file.path(folder, sprintf("copy_%02d.csv", k)), row.names = FALSE, na = "")
  }
}
writeLines(paste("synthpop", packageVersion("synthpop")), file.path(given[2], "synthpop.txt"))
