// Compiled by the Kotlin compiler: the compiler is the program under test.
sealed interface Shape { val area: Double }
data class Square(val side: Double) : Shape { override val area get() = side * side }
data class Disc(val radius: Double) : Shape { override val area by lazy { Math.PI * radius * radius } }
enum class Colour { RED, GREEN; fun next() = entries[(ordinal + 1) % entries.size] }
inline fun <T, R> Iterable<T>.fold2(start: R, step: (R, T) -> R): R { var at = start; for (item in this) at = step(at, item); return at }
fun Shape.describe(): String = when (this) {
    is Square -> "square of ${"%.1f".format(side)}"
    is Disc -> if (radius > 3) "large disc" else "disc"
}
suspend fun SequenceScope<Int>.countdown(from: Int) { var n = from; while (n > 0) yield(n--) }
class Registry<T : Comparable<T>>(private val items: MutableMap<String, T> = sortedMapOf()) {
    operator fun set(name: String, item: T) { items[name] = item }
    operator fun get(name: String): T? = items[name]
    fun best(): T? = items.values.maxOrNull()
}
fun main() {
    val shapes: List<Shape> = (1..10).map { if (it % 2 == 0) Square(it.toDouble()) else Disc(it / 2.0) }
    println(shapes.fold2(0.0) { sum, shape -> sum + shape.area })
    println(shapes.groupBy({ it.describe() }, { it.area }).mapValues { (_, v) -> v.size })
    val registry = Registry<Int>()
    for ((index, shape) in shapes.withIndex()) registry[shape.describe()] = index
    println("${registry.best()} ${registry["disc"] ?: -1} ${Colour.GREEN.next()}")
    println(sequence { countdown(5) }.toList())
}
