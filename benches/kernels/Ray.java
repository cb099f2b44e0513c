package kernels;

/** A ray tracer of tiny virtual methods: immutable vectors behind accessors, shapes and materials behind interfaces. */
final class Ray implements Kernel {
    private static final int WIDTH = 960;
    private static final int HEIGHT = 720;
    private static final int BOUNCES = 3;

    static class Vector {
        private final double x;
        private final double y;
        private final double z;

        Vector(double x, double y, double z) {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        double x() {
            return x;
        }

        double y() {
            return y;
        }

        double z() {
            return z;
        }

        Vector plus(Vector o) {
            return new Vector(x + o.x, y + o.y, z + o.z);
        }

        Vector minus(Vector o) {
            return new Vector(x - o.x, y - o.y, z - o.z);
        }

        Vector times(double k) {
            return new Vector(x * k, y * k, z * k);
        }

        double dot(Vector o) {
            return x * o.x + y * o.y + z * o.z;
        }

        Vector unit() {
            return times(1 / Math.sqrt(dot(this)));
        }

        Vector reflect(Vector normal) {
            return minus(normal.times(2 * dot(normal)));
        }
    }

    static final class Beam {
        private final Vector origin;
        private final Vector direction;

        Beam(Vector origin, Vector direction) {
            this.origin = origin;
            this.direction = direction;
        }

        Vector origin() {
            return origin;
        }

        Vector direction() {
            return direction;
        }

        Vector at(double distance) {
            return origin().plus(direction().times(distance));
        }
    }

    abstract static class Shape {
        /** Distance to the nearest hit in front of the beam's origin, or infinity. */
        abstract double hit(Beam beam);

        abstract Vector normal(Vector at);

        abstract double shade(Vector at);

        double gloss() {
            return 0;
        }
    }

    static final class Ball extends Shape {
        private final Vector centre;
        private final double radius;
        private final double shade;
        private final double gloss;

        Ball(Vector centre, double radius, double shade, double gloss) {
            this.centre = centre;
            this.radius = radius;
            this.shade = shade;
            this.gloss = gloss;
        }

        @Override
        double hit(Beam beam) {
            Vector to = centre.minus(beam.origin());
            double along = to.dot(beam.direction());
            double gap = radius * radius - to.dot(to) + along * along;
            if (gap < 0) {
                return Double.POSITIVE_INFINITY;
            }
            double near = along - Math.sqrt(gap);
            return near > 1e-6 ? near : Double.POSITIVE_INFINITY;
        }

        @Override
        Vector normal(Vector at) {
            return at.minus(centre).times(1 / radius);
        }

        @Override
        double shade(Vector at) {
            return shade;
        }

        @Override
        double gloss() {
            return gloss;
        }
    }

    static final class Floor extends Shape {
        private static final Vector UP = new Vector(0, 1, 0);
        private final double height;

        Floor(double height) {
            this.height = height;
        }

        @Override
        double hit(Beam beam) {
            double t = (height - beam.origin().y()) / beam.direction().y();
            return t > 1e-6 ? t : Double.POSITIVE_INFINITY;
        }

        @Override
        Vector normal(Vector at) {
            return UP;
        }

        @Override
        double shade(Vector at) {
            long square = (long) Math.floor(at.x()) + (long) Math.floor(at.z());
            return (square & 1) == 0 ? 0.9 : 0.2;
        }
    }

    private final Shape[] shapes = new Shape[8];
    private final Vector light = new Vector(-3, 6, -4).unit();

    Ray() {
        shapes[0] = new Floor(-1);
        for (int i = 1; i < shapes.length; i++) {
            double angle = i * 0.9;
            Vector centre = new Vector(2 * Math.cos(angle), 0.25 * (i - 4), 5 + 2 * Math.sin(angle));
            shapes[i] = new Ball(centre, 0.4 + 0.05 * i, 0.3 + 0.08 * i, i % 3 == 0 ? 0.5 : 0.1);
        }
    }

    private double trace(Beam beam, int bounces) {
        Shape nearest = null;
        double distance = Double.POSITIVE_INFINITY;
        for (Shape shape : shapes) {
            double hit = shape.hit(beam);
            if (hit < distance) {
                distance = hit;
                nearest = shape;
            }
        }
        if (nearest == null) {
            return 0.5 + 0.5 * beam.direction().y();
        }
        Vector at = beam.at(distance);
        Vector normal = nearest.normal(at);
        double lit = dark(at) ? 0.1 : Math.max(0.1, normal.dot(light));
        double colour = nearest.shade(at) * lit;
        if (nearest.gloss() > 0 && bounces > 0) {
            Beam mirrored = new Beam(at, beam.direction().reflect(normal));
            colour += nearest.gloss() * trace(mirrored, bounces - 1);
        }
        return colour;
    }

    private boolean dark(Vector at) {
        Beam toLight = new Beam(at, light);
        for (Shape shape : shapes) {
            if (shape.hit(toLight) < Double.POSITIVE_INFINITY) {
                return true;
            }
        }
        return false;
    }

    @Override
    public long run() {
        Vector eye = new Vector(0, 0.5, -3);
        long sum = 0;
        for (int row = 0; row < HEIGHT; row++) {
            for (int column = 0; column < WIDTH; column++) {
                Vector towards = new Vector((column - WIDTH / 2) / 600.0, (HEIGHT / 2 - row) / 600.0, 1);
                sum = sum * 31 + (long) (255 * trace(new Beam(eye, towards.unit()), BOUNCES));
            }
        }
        return sum;
    }
}
