package main

func Example() {
	main()
	// Output: a1 on host-1 runs web
}
