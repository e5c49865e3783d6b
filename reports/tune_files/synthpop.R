# Trees for the same columns: Rscript synthpop.R FILE FOLDER SEED COPIES DRAWS REPLACED NUMERIC LEAVES
# FILE is the table as synthdp reads it; REPLACED and NUMERIC are names of columns, one to a line of a file
suppressPackageStartupMessages(library(synthpop))
given <- commandArgs(TRUE)
people <- read.csv(given[1], check.names = FALSE, na.strings = "", colClasses = "character", encoding = "UTF-8")
replaced <- readLines(given[6])
numeric <- readLines(given[7])
spoken <- names(people)
names(people) <- paste0("c", seq_along(spoken))
plain <- setNames(names(people), spoken)
for (name in names(people)) {
  people[[name]] <- if (name %in% plain[numeric]) as.numeric(people[[name]]) else factor(people[[name]])
}
first <- setdiff(names(people), plain[replaced])
methods <- setNames(rep("", ncol(people)), names(people))
methods[plain[replaced]] <- "cart"
copies <- as.integer(given[4])
leaf <- as.integer(given[8])
made <- syn(people, method = methods, visit.sequence = c(first, unname(plain[replaced])), m = copies * as.integer(given[5]),
  seed = as.integer(given[3]), print.flag = FALSE, cart.minbucket = leaf, minnumlevels = -1, maxfaclevels = 1000)
each <- if (is.data.frame(made$syn)) list(made$syn) else made$syn
dir.create(given[2], recursive = TRUE, showWarnings = FALSE)
for (k in seq_along(each)) {
  copy <- each[[k]][plain]
  names(copy) <- spoken
  write.csv(copy, file.path(given[2], sprintf("copy_%03d.csv", k)), row.names = FALSE, na = "", fileEncoding = "UTF-8")
}
cat(as.character(packageVersion("synthpop")))
