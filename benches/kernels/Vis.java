package kernels;

import java.util.Random;

/** Visitors over an expression tree: an evaluator that throws on division by zero, a size count, a simplifier. */
final class Vis implements Kernel {
    interface Visitor<R> {
        R number(Number number);

        R variable(Variable variable);

        R binary(Binary binary);

        R guard(Guard guard);
    }

    abstract static class Expression {
        abstract <R> R accept(Visitor<R> visitor);
    }

    static final class Number extends Expression {
        final int value;

        Number(int value) {
            this.value = value;
        }

        @Override
        <R> R accept(Visitor<R> visitor) {
            return visitor.number(this);
        }
    }

    static final class Variable extends Expression {
        final int index;

        Variable(int index) {
            this.index = index;
        }

        @Override
        <R> R accept(Visitor<R> visitor) {
            return visitor.variable(this);
        }
    }

    static final class Binary extends Expression {
        final char operator;
        final Expression left;
        final Expression right;

        Binary(char operator, Expression left, Expression right) {
            this.operator = operator;
            this.left = left;
            this.right = right;
        }

        @Override
        <R> R accept(Visitor<R> visitor) {
            return visitor.binary(this);
        }
    }

    /** The body's value, or the fallback's when the body divides by zero. */
    static final class Guard extends Expression {
        final Expression body;
        final Expression fallback;

        Guard(Expression body, Expression fallback) {
            this.body = body;
            this.fallback = fallback;
        }

        @Override
        <R> R accept(Visitor<R> visitor) {
            return visitor.guard(this);
        }
    }

    static final class DivisionByZero extends RuntimeException {
        private static final long serialVersionUID = 1;

        DivisionByZero() {
            super("division by zero", null, false, false);
        }
    }

    static final class Evaluator implements Visitor<Integer> {
        private final int[] values;

        Evaluator(int[] values) {
            this.values = values;
        }

        @Override
        public Integer number(Number number) {
            return number.value;
        }

        @Override
        public Integer variable(Variable variable) {
            return values[variable.index];
        }

        @Override
        public Integer binary(Binary binary) {
            int left = binary.left.accept(this);
            int right = binary.right.accept(this);
            switch (binary.operator) {
                case '+':
                    return left + right;
                case '-':
                    return left - right;
                case '*':
                    return left * right;
                default:
                    return divide(left, right);
            }
        }

        private static int divide(int left, int right) {
            if (right == 0) {
                throw new DivisionByZero();
            }
            return left / right;
        }

        @Override
        public Integer guard(Guard guard) {
            try {
                return guard.body.accept(this);
            } catch (DivisionByZero e) {
                return guard.fallback.accept(this);
            }
        }
    }

    static final class Size implements Visitor<Integer> {
        @Override
        public Integer number(Number number) {
            return 1;
        }

        @Override
        public Integer variable(Variable variable) {
            return 1;
        }

        @Override
        public Integer binary(Binary binary) {
            return 1 + binary.left.accept(this) + binary.right.accept(this);
        }

        @Override
        public Integer guard(Guard guard) {
            return 1 + guard.body.accept(this) + guard.fallback.accept(this);
        }
    }

    static final class Simplifier implements Visitor<Expression> {
        @Override
        public Expression number(Number number) {
            return number;
        }

        @Override
        public Expression variable(Variable variable) {
            return variable;
        }

        @Override
        public Expression binary(Binary binary) {
            Expression left = binary.left.accept(this);
            Expression right = binary.right.accept(this);
            if (isNumber(right, 0) && (binary.operator == '+' || binary.operator == '-')) {
                return left;
            }
            if (isNumber(right, 1) && (binary.operator == '*' || binary.operator == '/')) {
                return left;
            }
            if (isNumber(left, 0) && binary.operator == '+') {
                return right;
            }
            return left == binary.left && right == binary.right ? binary : new Binary(binary.operator, left, right);
        }

        private static boolean isNumber(Expression expression, int value) {
            return expression instanceof Number && ((Number) expression).value == value;
        }

        @Override
        public Expression guard(Guard guard) {
            return new Guard(guard.body.accept(this), guard.fallback.accept(this));
        }
    }

    private static final int VARIABLES = 8;
    private final Expression[] programs = new Expression[24];

    Vis() {
        Random random = new Random(42);
        for (int i = 0; i < programs.length; i++) {
            programs[i] = grow(random, 11);
        }
    }

    private static Expression grow(Random random, int depth) {
        int choice = random.nextInt(100);
        if (depth == 0 || choice < 4) {
            return choice % 2 == 0 ? new Number(random.nextInt(5)) : new Variable(random.nextInt(VARIABLES));
        }
        if (choice < 18) {
            return new Guard(grow(random, depth - 1), grow(random, depth / 2));
        }
        char operator = choice < 26 ? '/' : "+-*".charAt(choice % 3);
        return new Binary(operator, grow(random, depth - 1), grow(random, depth - 1));
    }

    @Override
    public long run() {
        long sum = 0;
        int[] values = new int[VARIABLES];
        Size size = new Size();
        for (int round = 0; round < 100; round++) {
            for (int i = 0; i < VARIABLES; i++) {
                values[i] = (round * (i + 3)) % 7;
            }
            Evaluator evaluator = new Evaluator(values);
            for (Expression program : programs) {
                try {
                    sum = sum * 31 + program.accept(evaluator);
                } catch (DivisionByZero e) {
                    sum++;
                }
                if (round % 4 == 0) {
                    sum += program.accept(new Simplifier()).accept(size);
                }
            }
        }
        return sum;
    }
}
