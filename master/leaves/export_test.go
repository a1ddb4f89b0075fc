package leaves

// Branches is how many branches a Map has.
func Branches[V comparable](m *Map[V]) int { return len(m.branches) }
