/**
 * A control program for a group of lifts, with the building it controls simulated around it.
 *
 * <p>Written as an embedded program would be: a cyclic executive, state machines, fixed tables, no allocation after the
 * start. Integer arithmetic only; positions are in millimetres, speeds in millimetres per tick.
 */
public final class LiftController {
    static final int FLOORS = 12;
    static final int LIFTS = 3;
    static final int FLOOR_HEIGHT = 3200;
    static final int TICKS = 6000;

    private LiftController() {}

    /** A linear congruential generator, so that every run sees the same passengers. */
    static final class Random {
        private int state;

        Random(int seed) {
            state = seed;
        }

        int below(int bound) {
            state = state * 1664525 + 1013904223;
            return (state >>> 8) % bound;
        }
    }

    /** A set of floors. */
    static final class FloorSet {
        private int bits;

        void add(int floor) {
            bits |= 1 << floor;
        }

        void remove(int floor) {
            bits &= ~(1 << floor);
        }

        boolean has(int floor) {
            return (bits >>> floor & 1) != 0;
        }

        boolean isEmpty() {
            return bits == 0;
        }

        /** The nearest member above, or -1. */
        int above(int floor) {
            for (int f = floor + 1; f < FLOORS; f++) {
                if (has(f)) {
                    return f;
                }
            }
            return -1;
        }

        /** The nearest member below, or -1. */
        int below(int floor) {
            for (int f = floor - 1; f >= 0; f--) {
                if (has(f)) {
                    return f;
                }
            }
            return -1;
        }

        int count() {
            int n = 0;
            for (int b = bits; b != 0; b &= b - 1) {
                n++;
            }
            return n;
        }
    }

    /** Something that is called once per tick. */
    interface Periodic {
        void tick(int now);
    }

    /** Speed up, run, slow down: moves towards a target without ever passing it. */
    static final class Drive implements Periodic {
        private static final int ACCELERATION = 4;
        private static final int FASTEST = 160;

        private int position;
        private int speed;
        private int target;

        void goTo(int newTarget) {
            target = newTarget;
        }

        boolean hasArrived() {
            return position == target && speed == 0;
        }

        int position() {
            return position;
        }

        int speed() {
            return speed;
        }

        /** The way it takes to stop at a speed: the sum of all smaller multiples of the acceleration. */
        private static int brakingWay(int speed) {
            int steps = speed / ACCELERATION;
            return ACCELERATION * steps * (steps + 1) / 2;
        }

        @Override
        public void tick(int now) {
            int distance = target - position;
            int direction = distance < 0 ? -1 : 1;
            int way = distance * direction;
            int magnitude = speed * direction;
            if (way == 0) {
                speed = 0;
                return;
            }
            if (magnitude < 0) {
                magnitude += ACCELERATION; // moving away: brake first
            } else if (brakingWay(magnitude + ACCELERATION) + magnitude + ACCELERATION <= way && magnitude < FASTEST) {
                magnitude += ACCELERATION;
            } else if (brakingWay(magnitude) > way) {
                magnitude -= ACCELERATION;
            }
            if (magnitude == 0) {
                magnitude = way < ACCELERATION ? way : ACCELERATION;
            }
            if (magnitude > way) {
                magnitude = way;
            }
            speed = magnitude * direction;
            position += speed;
        }
    }

    /** A door with its motor and its light barrier. */
    static final class Door implements Periodic {
        static final int CLOSED = 0;
        static final int OPENING = 1;
        static final int OPEN = 2;
        static final int CLOSING = 3;
        private static final int WIDTH = 40;
        private static final int STAYS_OPEN = 60;

        private int state = CLOSED;
        private int gap;
        private int wait;
        private boolean obstructed;

        void open() {
            if (state != OPEN) {
                state = OPENING;
            }
            wait = STAYS_OPEN;
        }

        void obstruct(boolean now) {
            obstructed = now;
        }

        boolean isClosed() {
            return state == CLOSED;
        }

        boolean isOpen() {
            return state == OPEN;
        }

        @Override
        public void tick(int now) {
            switch (state) {
                case OPENING:
                    gap += 2;
                    if (gap >= WIDTH) {
                        gap = WIDTH;
                        state = OPEN;
                    }
                    break;
                case OPEN:
                    if (obstructed) {
                        wait = STAYS_OPEN;
                    } else if (--wait <= 0) {
                        state = CLOSING;
                    }
                    break;
                case CLOSING:
                    if (obstructed) {
                        open();
                        break;
                    }
                    gap--;
                    if (gap <= 0) {
                        gap = 0;
                        state = CLOSED;
                    }
                    break;
                default:
                    break;
            }
        }
    }

    /** How a lift chooses its next stop. */
    abstract static class Strategy {
        /** The next floor to stop at, or -1 to stay. */
        abstract int nextStop(Lift lift);

        /** What answering a call from a floor would cost the lift, in floors to travel. */
        int cost(Lift lift, int floor, int direction) {
            int distance = lift.floor() - floor;
            int way = distance < 0 ? -distance : distance;
            return way + 2 * lift.stops.count() + (lift.direction != 0 && lift.direction != direction ? FLOORS : 0);
        }
    }

    /** Goes on in its direction as long as there is a stop, then turns round. */
    static final class Collective extends Strategy {
        @Override
        int nextStop(Lift lift) {
            int up = lift.stops.above(lift.floor());
            int down = lift.stops.below(lift.floor());
            if (lift.stops.has(lift.floor())) {
                return lift.floor();
            }
            if (lift.direction >= 0) {
                return up >= 0 ? up : down;
            }
            return down >= 0 ? down : up;
        }
    }

    /** Takes the nearest stop, and goes back to the ground floor when there is none. */
    static final class Nearest extends Strategy {
        @Override
        int nextStop(Lift lift) {
            int at = lift.floor();
            if (lift.stops.has(at)) {
                return at;
            }
            int up = lift.stops.above(at);
            int down = lift.stops.below(at);
            if (up < 0 && down < 0) {
                return at == 0 ? -1 : 0;
            }
            if (up < 0 || down < 0) {
                return up < 0 ? down : up;
            }
            return up - at <= at - down ? up : down;
        }

        @Override
        int cost(Lift lift, int floor, int direction) {
            return super.cost(lift, floor, direction) + 1;
        }
    }

    /** One lift: a drive, a door, the buttons inside, the people inside. */
    static final class Lift implements Periodic {
        final FloorSet stops = new FloorSet();
        final Drive drive = new Drive();
        final Door door = new Door();
        private final Strategy strategy;
        private final int[] passengersTo = new int[FLOORS];
        int direction;
        private int passengers;
        private int delivered;
        private int target = -1;

        Lift(Strategy strategy) {
            this.strategy = strategy;
        }

        int floor() {
            return (drive.position() + FLOOR_HEIGHT / 2) / FLOOR_HEIGHT;
        }

        boolean isFull() {
            return passengers >= 8;
        }

        void enter(int destination) {
            passengers++;
            passengersTo[destination]++;
            stops.add(destination);
        }

        int leaveAt(int floor) {
            int leaving = passengersTo[floor];
            passengersTo[floor] = 0;
            passengers -= leaving;
            delivered += leaving;
            return leaving;
        }

        @Override
        public void tick(int now) {
            door.tick(now);
            if (!door.isClosed()) {
                return;
            }
            if (target < 0 || drive.hasArrived()) {
                if (target >= 0 && stops.has(target)) {
                    stops.remove(target);
                    door.open();
                    return;
                }
                target = strategy.nextStop(this);
                if (target < 0) {
                    direction = 0;
                    return;
                }
                direction = Integer.compare(target, floor());
                drive.goTo(target * FLOOR_HEIGHT);
            }
            drive.tick(now);
        }

        int state() {
            return drive.position() * 31 + delivered * 7 + passengers * 3 + direction + drive.speed();
        }
    }

    /** Waiting people, and the buttons they press. */
    static final class Hall {
        private final int[] waiting = new int[FLOORS * 2];
        private final boolean[] called = new boolean[FLOORS * 2];

        void arrive(int floor, boolean up) {
            waiting[index(floor, up)]++;
        }

        boolean wants(int floor, boolean up) {
            int i = index(floor, up);
            return waiting[i] > 0 && !called[i];
        }

        void answered(int floor, boolean up, boolean yes) {
            called[index(floor, up)] = yes;
        }

        boolean takeOne(int floor, boolean up) {
            int i = index(floor, up);
            called[i] = false;
            if (waiting[i] == 0) {
                return false;
            }
            waiting[i]--;
            return true;
        }

        int total() {
            int sum = 0;
            for (int n : waiting) {
                sum += n;
            }
            return sum;
        }

        private static int index(int floor, boolean up) {
            return up ? floor : FLOORS + floor;
        }
    }

    /** Gives calls to lifts, and lets people in and out. */
    static final class Dispatcher implements Periodic {
        private final Lift[] lifts;
        private final Strategy[] strategies;
        private final Hall hall;
        private final Random random;

        Dispatcher(Lift[] lifts, Strategy[] strategies, Hall hall, Random random) {
            this.lifts = lifts;
            this.strategies = strategies;
            this.hall = hall;
            this.random = random;
        }

        @Override
        public void tick(int now) {
            if (now % 4 == 0) {
                for (int floor = 0; floor < FLOORS; floor++) {
                    assign(floor, true);
                    assign(floor, false);
                }
            }
            for (int i = 0; i < lifts.length; i++) {
                serve(lifts[i], now);
            }
        }

        private void assign(int floor, boolean up) {
            if (!hall.wants(floor, up)) {
                return;
            }
            int best = -1;
            int least = Integer.MAX_VALUE;
            for (int i = 0; i < lifts.length; i++) {
                int cost = strategies[i].cost(lifts[i], floor, up ? 1 : -1);
                if (!lifts[i].isFull() && cost < least) {
                    least = cost;
                    best = i;
                }
            }
            if (best >= 0) {
                lifts[best].stops.add(floor);
                hall.answered(floor, up, true);
            }
        }

        private void serve(Lift lift, int now) {
            if (!lift.door.isOpen()) {
                return;
            }
            int floor = lift.floor();
            lift.leaveAt(floor);
            boolean boarded = board(lift, floor, true) | board(lift, floor, false);
            lift.door.obstruct(boarded && now % 3 == 0);
        }

        private boolean board(Lift lift, int floor, boolean up) {
            boolean any = false;
            while (!lift.isFull() && hall.takeOne(floor, up)) {
                int span = up ? FLOORS - 1 - floor : floor;
                if (span > 0) {
                    lift.enter(up ? floor + 1 + random.below(span) : random.below(span));
                }
                any = true;
            }
            return any;
        }
    }

    /** People arrive: mostly at the ground floor in the morning, everywhere later. */
    static final class Traffic implements Periodic {
        private final Hall hall;
        private final Random random;

        Traffic(Hall hall, Random random) {
            this.hall = hall;
            this.random = random;
        }

        @Override
        public void tick(int now) {
            if (now > TICKS * 3 / 4 || random.below(36) != 0) {
                return;
            }
            int floor = now < TICKS / 3 && random.below(3) != 0 ? 0 : random.below(FLOORS);
            boolean up = floor == 0 || floor < FLOORS - 1 && random.below(2) == 0;
            hall.arrive(floor, up);
        }
    }

    private static int checksum;
    private static int delivered;

    /** The whole day, tick by tick. */
    static void measured() {
        Random random = new Random(4711);
        Hall hall = new Hall();
        Strategy[] strategies = {new Collective(), new Nearest(), new Collective()};
        Lift[] lifts = new Lift[LIFTS];
        for (int i = 0; i < LIFTS; i++) {
            lifts[i] = new Lift(strategies[i]);
        }
        Periodic[] tasks = new Periodic[LIFTS + 2];
        tasks[0] = new Traffic(hall, random);
        tasks[1] = new Dispatcher(lifts, strategies, hall, random);
        System.arraycopy(lifts, 0, tasks, 2, LIFTS);
        int sum = 17;
        for (int now = 0; now < TICKS; now++) {
            for (int t = 0; t < tasks.length; t++) {
                tasks[t].tick(now);
            }
            if (now % 50 == 0) {
                for (int i = 0; i < LIFTS; i++) {
                    sum = sum * 31 + lifts[i].state();
                }
            }
        }
        for (int i = 0; i < LIFTS; i++) {
            delivered += lifts[i].delivered;
        }
        checksum = sum * 31 + hall.total();
    }

    public static void main(String[] args) {
        measured();
        System.out.println("lift controller: " + delivered + " people delivered, checksum " + checksum);
    }
}
