package acme

import acme.tools.twice

inline fun repeated(times: Int, body: (Int) -> Unit) {
    var at = 0
    while (at < times) {
        body(at)
        at++
    }
}

fun main() {
    var sum = 0
    repeated(1000) {
        sum += it
    }
    twice {
        sum += 100
    }
    println(sum)
}
