// Groovy: dynamic dispatch, closures, builders, metaprogramming, exceptions.
import groovy.transform.Immutable

@Immutable class Order { int id; String customer; BigDecimal amount }

def orders = (1..500).collect { new Order(it, "c${it * 7 % 13}", (it * 31 % 97) * 1.25) }
println orders.groupBy { it.customer }.collectEntries { k, v -> [k, v*.amount.sum()] }.sort()
Integer.metaClass.collatz = { -> def n = delegate, steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n.intdiv(2); steps++ }; steps }
println((1..200).max { it.collatz() })
def memo
memo = { n -> n < 2 ? n : memo(n - 1) + memo(n - 2) }.memoize()
println memo(60)
try { orders[0].nothing } catch (MissingPropertyException e) { println "no such property: ${e.property}" }
println "%05.1f %s".formatted(orders*.amount.max(), orders.findAll { it.amount > 115 }*.id)
println "a1b22c333".replaceAll(/\d+/) { "<${it.length()}>" }
