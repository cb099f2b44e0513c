// Shows: serialisation: constructors of the first non-serialisable superclass only, readObject by reflection, exceptions in it.
// expect: Serial$Plain.<init>()V calls=40 thrown=0
// expect: Serial$Data.<init>(I)V calls=20 thrown=0
// expect: Serial$Data.readObject(Ljava/io/ObjectInputStream;)V calls=20 thrown=4
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;

class Serial {
    static class Plain {
        int p = 1;

        Plain() {
        }
    }

    static class Data extends Plain implements Serializable {
        private static final long serialVersionUID = 1;
        final int x;
        String text = "text";

        Data(int x) {
            this.x = x;
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            if (x % 5 == 0) throw new InvalidObjectException("five");
        }
    }

    static int body() throws Exception {
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(new Data(i));
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                sum += ((Data) in.readObject()).x;
            } catch (InvalidObjectException e) {
                sum++;
            }
        }
        return sum;
    }

    static int measured() throws Exception {
        return body();
    }

    public static void main(String[] args) throws Exception {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.gc(); // or the first SoftReference.get() behind a collection, which takes three bytecodes more, may be in here
        System.out.println("Serial " + measured());
    }
}
