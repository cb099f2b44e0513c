/**
 * Position control of three motors in a gantry: trajectory, cascaded control loops, current limit, supervision, and a
 * simulated plant, all in fixed point.
 *
 * <p>Numbers with a fraction are Q16: an int whose unit is 1/65536.
 */
public final class MotorControl {
    static final int ONE = 1 << 16;
    static final int CYCLES = 4000;
    static final int AXES = 3;

    private MotorControl() {}

    /** Fixed-point arithmetic. */
    static final class Q16 {
        private static final int STEPS = 64;
        private static final int[] QUARTER_SINE = new int[STEPS + 1];

        static {
            // A parabola through 0, a quarter and a half turn; its error is below six per cent, and it needs no floating point.
            for (int i = 0; i <= STEPS; i++) {
                int x = i * (ONE / STEPS);
                QUARTER_SINE[i] = multiply(x, 2 * ONE - x);
            }
        }

        private Q16() {}

        static int multiply(int a, int b) {
            int high = (a >> 16) * b;
            int low = (a & 0xFFFF) * (b >> 16) + (((a & 0xFFFF) * ((b & 0xFFFF) >>> 1)) >>> 15);
            return high + low;
        }

        static int clamp(int value, int limit) {
            if (value > limit) {
                return limit;
            }
            return value < -limit ? -limit : value;
        }

        static int abs(int value) {
            return value < 0 ? -value : value;
        }

        /** The sine of an angle of which 256 make a turn. */
        static int sine(int angle) {
            int a = angle & 255;
            int quarter = a & 63;
            switch (a >> 6) {
                case 0:
                    return QUARTER_SINE[quarter];
                case 1:
                    return QUARTER_SINE[STEPS - quarter];
                case 2:
                    return -QUARTER_SINE[quarter];
                default:
                    return -QUARTER_SINE[STEPS - quarter];
            }
        }

        /** The integer square root. */
        static int root(int value) {
            int result = 0;
            int rest = value;
            int bit = 1 << 30;
            while (bit > rest) {
                bit >>= 2;
            }
            while (bit != 0) {
                if (rest >= result + bit) {
                    rest -= result + bit;
                    result = (result >> 1) + bit;
                } else {
                    result >>= 1;
                }
                bit >>= 2;
            }
            return result;
        }
    }

    /** A block of a signal path: one value in, one out, once per cycle. */
    abstract static class Block {
        abstract int step(int input);

        void reset() {}
    }

    /** Proportional, integral and differential control with a limit and anti-windup. */
    static final class Pid extends Block {
        private final int proportional;
        private final int integral;
        private final int differential;
        private final int limit;
        private int sum;
        private int last;

        Pid(int proportional, int integral, int differential, int limit) {
            this.proportional = proportional;
            this.integral = integral;
            this.differential = differential;
            this.limit = limit;
        }

        @Override
        int step(int error) {
            int raw = Q16.multiply(proportional, error) + sum + Q16.multiply(differential, error - last);
            last = error;
            int limited = Q16.clamp(raw, limit);
            if (raw == limited) {
                sum = Q16.clamp(sum + Q16.multiply(integral, error), limit);
            }
            return limited;
        }

        @Override
        void reset() {
            sum = 0;
            last = 0;
        }
    }

    /** The mean of the last eight values. */
    static final class MovingMean extends Block {
        private final int[] values = new int[8];
        private int next;
        private int sum;

        @Override
        int step(int input) {
            sum += input - values[next];
            values[next] = input;
            next = next + 1 & 7;
            return sum >> 3;
        }

        @Override
        void reset() {
            for (int i = 0; i < values.length; i++) {
                values[i] = 0;
            }
            sum = 0;
        }
    }

    /** Lets a value change by so much per cycle and no more. */
    static final class RateLimit extends Block {
        private final int most;
        private int value;

        RateLimit(int most) {
            this.most = most;
        }

        @Override
        int step(int input) {
            value += Q16.clamp(input - value, most);
            return value;
        }
    }

    /** Passes on what is outside a band around zero. */
    static final class DeadBand extends Block {
        private final int width;

        DeadBand(int width) {
            this.width = width;
        }

        @Override
        int step(int input) {
            if (input > width) {
                return input - width;
            }
            return input < -width ? input + width : 0;
        }
    }

    /** Blocks one behind the other. */
    static final class Chain extends Block {
        private final Block[] blocks;

        Chain(Block... blocks) {
            this.blocks = blocks;
        }

        @Override
        int step(int input) {
            int value = input;
            for (int i = 0; i < blocks.length; i++) {
                value = blocks[i].step(value);
            }
            return value;
        }

        @Override
        void reset() {
            for (int i = 0; i < blocks.length; i++) {
                blocks[i].reset();
            }
        }
    }

    /** Where an axis should be. */
    interface Trajectory {
        int positionAt(int cycle);
    }

    /** From one point to the next at constant speed, over and over. */
    static final class Points implements Trajectory {
        private final int[] points;
        private final int perPoint;

        Points(int perPoint, int... points) {
            this.points = points;
            this.perPoint = perPoint;
        }

        @Override
        public int positionAt(int cycle) {
            int at = cycle / perPoint % points.length;
            int next = at + 1 == points.length ? 0 : at + 1;
            int part = cycle % perPoint;
            return points[at] + (points[next] - points[at]) / perPoint * part;
        }
    }

    /** Round a circle. */
    static final class Circle implements Trajectory {
        private final int radius;
        private final int phase;

        Circle(int radius, int phase) {
            this.radius = radius;
            this.phase = phase;
        }

        @Override
        public int positionAt(int cycle) {
            return Q16.multiply(radius, Q16.sine((cycle >> 3) + phase));
        }
    }

    /** A motor with inertia, friction and a load; what a real axis would be. */
    static final class Plant {
        private final int inertia;
        private final int friction;
        private int position;
        private int speed;
        private int noise;

        Plant(int inertia, int friction, int seed) {
            this.inertia = inertia;
            this.friction = friction;
            noise = seed;
        }

        void apply(int current, int load) {
            int torque = current - load - Q16.multiply(friction, speed);
            speed += torque / inertia;
            position += speed >> 4;
        }

        /** The encoder: the position with a little noise in the last bits. */
        int encoder() {
            noise = noise * 1103515245 + 12345;
            return position + (noise >> 27);
        }

        int position() {
            return position;
        }
    }

    /** What can be wrong with an axis. */
    static final class Supervisor {
        private static final int OK = 0;
        private static final int WARNED = 1;
        private static final int STOPPED = 2;
        private final int allowed;
        private int state;
        private int strikes;
        private int stops;

        Supervisor(int allowed) {
            this.allowed = allowed;
        }

        /** Answers whether the axis may move. */
        boolean watch(int error, int current) {
            boolean bad = Q16.abs(error) > allowed || Q16.abs(current) > 48 * ONE;
            switch (state) {
                case OK:
                    if (bad) {
                        state = WARNED;
                        strikes = 1;
                    }
                    return true;
                case WARNED:
                    strikes += bad ? 1 : -1;
                    if (strikes > 20) {
                        state = STOPPED;
                        stops++;
                        strikes = 50;
                    } else if (strikes <= 0) {
                        state = OK;
                    }
                    return true;
                case STOPPED:
                    if (--strikes <= 0) {
                        state = OK;
                    }
                    return false;
                default:
                    throw new IllegalStateException();
            }
        }

        int stops() {
            return stops;
        }
    }

    /** One axis: trajectory → position control → speed control → current → plant, and back over the encoder. */
    static final class Axis {
        private final Trajectory trajectory;
        private final Block positionControl;
        private final Block speedControl;
        private final Block smoothing = new MovingMean();
        private final Supervisor supervisor = new Supervisor(40 * ONE);
        private final Plant plant;
        private int lastEncoder;
        private int errors;

        Axis(Trajectory trajectory, Block positionControl, Block speedControl, Plant plant) {
            this.trajectory = trajectory;
            this.positionControl = positionControl;
            this.speedControl = speedControl;
            this.plant = plant;
        }

        void cycle(int now, int load) {
            int encoder = plant.encoder();
            int speed = smoothing.step(encoder - lastEncoder);
            lastEncoder = encoder;
            int error = trajectory.positionAt(now) - encoder;
            int wanted = positionControl.step(error);
            int current = speedControl.step(wanted - 16 * speed);
            if (supervisor.watch(error, current)) {
                plant.apply(current, load);
            } else {
                positionControl.reset();
                speedControl.reset();
                plant.apply(0, load);
            }
            errors += Q16.abs(error) >> 12;
        }

        int position() {
            return plant.position();
        }

        int state() {
            return position() * 31 + errors * 7 + supervisor.stops();
        }
    }

    private static int checksum;
    private static int stops;
    private static int meanError;

    private static Block position(int gain) {
        return new Chain(new DeadBand(ONE / 64), new Pid(gain, gain >> 7, gain >> 2, 24 * ONE));
    }

    private static Block speed(int gain) {
        return new Chain(new RateLimit(6 * ONE), new Pid(gain, gain >> 5, 0, 40 * ONE));
    }

    /** All control cycles of all axes. */
    static void measured() {
        Axis[] axes = new Axis[AXES];
        axes[0] = new Axis(new Circle(90 * ONE, 0), position(ONE / 3), speed(ONE / 2), new Plant(9, ONE / 20, 1));
        axes[1] = new Axis(new Circle(90 * ONE, 64), position(ONE / 4), speed(ONE / 2), new Plant(12, ONE / 16, 2));
        Trajectory lift = new Points(500, 0, 60 * ONE, 20 * ONE, 110 * ONE);
        axes[2] = new Axis(lift, position(ONE / 3), speed(ONE / 3), new Plant(15, ONE / 12, 3));
        int sum = 1;
        for (int now = 0; now < CYCLES; now++) {
            // The axes carry each other: how far the others are out is part of an axis's load.
            int x = axes[0].position() >> 16;
            int y = axes[1].position() >> 16;
            int reach = Q16.root(x * x + y * y);
            for (int a = 0; a < AXES; a++) {
                axes[a].cycle(now, a == 2 ? 2 * ONE : reach << 8);
            }
            if (now % 100 == 0) {
                for (int a = 0; a < AXES; a++) {
                    sum = sum * 31 + axes[a].state();
                }
            }
        }
        for (int a = 0; a < AXES; a++) {
            stops += axes[a].supervisor.stops();
            meanError += axes[a].errors / (CYCLES * AXES);
        }
        checksum = sum;
    }

    public static void main(String[] args) {
        measured();
        System.out.println("motor control: " + stops + " stops, mean error " + meanError + "/16, checksum " + checksum);
    }
}
