package acme.tools

// Its lines are also lines of the file that it is inlined into, where they say something else.
inline fun twice(body: () -> Unit) {
    body()
    body()
}
