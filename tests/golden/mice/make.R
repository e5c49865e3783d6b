# Makes scalar.csv, inputs.csv, copies.csv, regression.csv and wald.csv: what mice gives for random inputs.
# Run in this folder: Rscript make.R     (R 4.2.2, mice 3.15.0, mitml)
suppressPackageStartupMessages(library(mice))
set.seed(20260)
options(digits = 17)
written <- function(frame, file) {
  numbers <- sapply(frame, is.double)
  frame[numbers] <- lapply(frame[numbers], function(x) sprintf("%.17g", x))
  write.csv(frame, file, row.names = FALSE, quote = FALSE)
}

# scalar: pool.scalar (Rubin) and pool.scalar.syn (Reiter), 60 cases
inputs <- NULL
scalar <- NULL
for (case in 1:60) {
  m <- sample(c(2, 3, 5, 10, 20), 1)
  # mice takes a lambda under 1e-4 for 1e-4: none of these is
  q <- rnorm(m, sd = 10^runif(1, -0.5, 1)) + rnorm(1)
  u <- rgamma(m, 3) * 10^runif(1, -1, 0.5)
  inputs <- rbind(inputs, data.frame(case = case, copy = seq_len(m), q = q, u = u))
  for (rule in c("rubin1987", "reiter2003")) {
    found <- if (rule == "rubin1987") pool.scalar(q, u) else pool.scalar.syn(q, u)
    scalar <- rbind(scalar, data.frame(
      case = case, rule = rule, estimate = found$qbar, ubar = found$ubar, b = found$b, t = found$t, df = found$df,
      lambda = (1 + 1 / m) * found$b / found$t
    ))
  }
}
written(inputs, "inputs.csv")
written(scalar, "scalar.csv")

# regressions: pool and pool.syn (intervals, p-values), and the test D1 of mitml
# (Li, Raghunathan, Rubin 1991), on copies of nhanes2
imputed <- mice(nhanes2, m = 6, seed = 1, printFlag = FALSE)
copies <- complete(imputed, "long")
names(copies)[1:2] <- c("copy", "row")
copies$age <- as.integer(copies$age)
copies$hyp <- as.integer(copies$hyp == "yes")
written(copies, "copies.csv")
fits <- as.mira(lapply(split(copies, copies$copy), function(d) lm(bmi ~ age + hyp + chl, data = d)))
pooled <- NULL
for (rule in c("rubin1987", "reiter2003")) {
  # dfcom = Inf: the large-sample degrees of freedom, not those of Barnard and Rubin (1999)
  found <- if (rule == "rubin1987") pool(fits, dfcom = Inf) else pool.syn(fits, dfcom = Inf)
  shown <- summary(found, conf.int = TRUE)
  pooled <- rbind(pooled, data.frame(
    rule = rule, term = shown$term, estimate = shown$estimate, se = shown$std.error, df = shown$df,
    p = shown$p.value, low = shown[["2.5 %"]], high = shown[["97.5 %"]]
  ))
}
written(pooled, "regression.csv")

smaller <- as.mira(lapply(split(copies, copies$copy), function(d) lm(bmi ~ age, data = d)))
least <- as.mira(lapply(split(copies, copies$copy), function(d) lm(bmi ~ age + hyp, data = d)))
tests <- NULL
for (name in c("hyp+chl", "chl")) {
  # mice's D1 calls this with the residual degrees of freedom; without them it is the large-sample test
  found <- mitml::testModels(fits$analyses, (if (name == "chl") least else smaller)$analyses, method = "D1")$test
  tests <- rbind(tests, data.frame(
    terms = name, statistic = found[1], df1 = found[2], df2 = found[3], p = found[4], riv = found[5]
  ))
}
written(tests, "wald.csv")
