package bench

import (
	"slices"
	"time"
)

// median is the middle of values, or the mean of the two in the middle. It is
// 0 for none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile is the smallest duration that at least the share q of all durations
// does not exceed, in seconds. It sorts durations, and is 0 for none.
func quantile(durations []time.Duration, q float64) float64 {
	n := len(durations)
	if n == 0 {
		return 0
	}
	slices.Sort(durations)
	rank := int(q * float64(n))
	if float64(rank) < q*float64(n) {
		rank++
	}
	return durations[max(rank, 1)-1].Seconds()
}

// ratio is a/b, or 0, which stands for undefined, if either was not measured.
func ratio(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a / b
}
