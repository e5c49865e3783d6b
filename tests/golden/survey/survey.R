# Reference values of R's survey package for tests/golden/test_survey_package.py.
# Run in this folder: Rscript survey.R   (writes sample.csv and expected.csv)
tight <- glm.control(epsilon = 1e-14, maxit = 100)
suppressMessages({library(survey); library(survival)})
set.seed(20240501)
strata <- 8; clusters <- 2; size <- 15
data <- expand.grid(unit = seq_len(size), psu = seq_len(clusters), stratum = seq_len(strata))
n <- nrow(data)
data$unit <- NULL
effect <- rnorm(strata * clusters, 0, 0.5)[(data$stratum - 1) * clusters + data$psu]
data$w <- round(runif(n, 1, 6), 2)
data$x <- round(rnorm(n) + 0.3 * effect, 3)
data$region <- sample(c("a", "b", "c"), n, replace = TRUE)
eta <- 0.6 * data$x + 0.4 * (data$region == "b") + effect
data$y <- round(2 + eta + rnorm(n), 3)
data$v <- as.integer(runif(n) < plogis(eta))
data$k <- rpois(n, exp(0.3 * eta))
data$p <- round(rgamma(n, 2, scale = exp(0.3 * eta)), 4) + 0.001
data$o <- 1 + (eta + rlogis(n) > -1) + (eta + rlogis(n) > 1)
data$t <- round(rexp(n, exp(0.5 * eta)), 6) + seq_len(n) * 1e-7
data$d <- as.integer(runif(n) < 0.7)
data$y[sample(n, 20)] <- NA

design <- svydesign(ids = ~psu, strata = ~stratum, weights = ~w, data = data, nest = TRUE)
rows <- list()
keep <- function(case, estimate, se) {
  rows[[length(rows) + 1]] <<- data.frame(case = case, term = names(estimate), estimate = unname(estimate), se = unname(se))
}
fit <- function(case, model) keep(case, coef(model), sqrt(diag(vcov(model)))[names(coef(model))])

fit("mean", svymean(~y + x, design, na.rm = TRUE))
fit("mean without strata", svymean(~x, svydesign(ids = ~1, weights = ~w, data = data)))
fit("proportion", svymean(~region, design))
fit("count", svytotal(~region, design))
fit("ols", svyglm(y ~ x + region, design))
fit("logit", svyglm(v ~ x + region, design, family = quasibinomial(), control = tight))
fit("probit", svyglm(v ~ x + region, design, family = quasibinomial("probit"), control = tight))
fit("poisson", svyglm(k ~ x + region, design, family = quasipoisson(), control = tight))
fit("gamma", svyglm(p ~ x + region, design, family = Gamma("log"), control = tight))
fit("cox", svycoxph(Surv(t, d) ~ x + region, design))
ordered <- svyolr(factor(o) ~ x + region, design, control = list(reltol = 1e-15, maxit = 1000))
keep("ordered_logit", c(ordered$coefficients, ordered$zeta), sqrt(diag(vcov(ordered))))
keep("quantile", c(q50 = svyquantile(~x, design, 0.5, ci = FALSE, qrule = "school")$x[1, 1]), c(q50 = NA))

taken <- function(case, type, ...) {
  made <- as.svrepdesign(design, type = type, mse = TRUE, ...)
  columns <- weights(made, "analysis")
  colnames(columns) <- sprintf("%s_%02d", case, seq_len(ncol(columns)))
  data <<- cbind(data, round(columns, 10))
  fit(paste(case, "mean"), svymean(~x, made))
  fit(paste(case, "logit"), svyglm(v ~ x + region, made, family = quasibinomial(), control = tight))
  keep(paste(case, "scale"), setNames(made$scale * made$rscales, colnames(columns)), made$scale * made$rscales)
}
taken("jkn", "JKn")
taken("brr", "BRR")
design <- svydesign(ids = ~I(stratum * 10 + psu), weights = ~w, data = data)
taken("jk1", "JK1")
taken("bootstrap", "bootstrap", replicates = 12)

write.csv(data, "sample.csv", row.names = FALSE, quote = FALSE)
write.csv(format(do.call(rbind, rows), digits = 15), "expected.csv", row.names = FALSE, quote = FALSE)
