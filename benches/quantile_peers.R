# One saturated fit by quantreg: prints CPU seconds, peak memory and objective as JSON.
# Rscript quantile_peers.R FILE REQUESTS_A_RUN LEVEL METHOD ERRORS(0|1); the file holds float64.
a <- commandArgs(TRUE); suppressMessages(library(quantreg))
each <- as.integer(a[2]); n <- 480L * each; y <- readBin(a[1], "double", n)
cell <- rep(0:15, each = 30L * each)
d <- data.frame(y, a = cell %/% 8, b = cell %/% 4 %% 2, c = cell %/% 2 %% 2, d = cell %% 2)
x <- model.matrix(~ a * b * c * d, d); tau <- as.numeric(a[3])
x <- x[, c(1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 11, 12, 13, 14, 15, 16)]
t <- system.time(if (a[5] == "1") { f <- rq(y ~ x - 1, tau = tau, method = a[4]); s <- summary(f, se = "nid") }
  else f <- rq.fit(x, y, tau = tau, method = a[4]))
r <- y - drop(x %*% coef(f)); o <- sum(r * (tau - (r < 0)))
e <- ""
if (a[5] == "1") e <- paste0(",\"errors\":[", paste(format(s$coefficients[, 2], digits = 12), collapse = ","), "]")
peak <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
cat(sprintf("{\"seconds\":%f,\"peak_mb\":%f,\"objective\":%.12g%s}\n", sum(t[1:2]), peak, o, e))
