package main

import "fmt"

// counted is "1 finding", "2 findings".
func counted[N int | uint64](n N, noun string) string { return countedAs(n, noun, noun+"s") }

// countedAs is counted for nouns with a plural of their own.
func countedAs[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
