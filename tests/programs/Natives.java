// Shows: native methods that Java methods of the same name and descriptor override, called beside these: by super, by dynamic calls, and as what
// arrays have. Without call sites, what the Java methods did not take went to the native ones.
// expect: Natives$Item.clone()Ljava/lang/Object; calls=10000 thrown=0
// expect: Natives$Named.hashCode()I calls=10000
class Natives {
    static class Thing implements Cloneable {
        @Override
        public Object clone() {
            try {
                return super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static class Item extends Thing {
        int[] parts = new int[3];

        @Override
        public Object clone() {
            Item item = (Item) super.clone();
            item.parts = parts.clone();
            return item;
        }
    }

    static class Named {
        @Override
        public int hashCode() {
            return 7;
        }
    }

    static class Other extends Named {
        int both(Object o) {
            return (o.hashCode() == 7 ? 1 : 0) + super.hashCode();
        }
    }

    static int measured() {
        Item item = new Item();
        Other other = new Other();
        Object plain = new Object();
        int sum = 0;
        for (int i = 0; i < 10000; i++) {
            sum += ((Item) item.clone()).parts.length;
            sum += other.both(plain) & 1;
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Natives " + measured());
    }
}
