// Shows: library code with intrinsics of its own: BigInteger products and powers, digests, CRC, Base64, UTF-8 and Latin-1 coding.
// expect: Numbers.big(I)I calls=20 thrown=0
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.zip.CRC32;

class Numbers {
    static int big(int i) {
        BigInteger a = BigInteger.valueOf(i + 3).pow(60), b = BigInteger.valueOf(7 + i).pow(50);
        return a.multiply(b).mod(b.add(BigInteger.TEN)).hashCode() ^ a.modPow(BigInteger.TWO, b).bitCount() ^ a.multiply(a).intValue();
    }

    static int body() throws Exception {
        int sum = 0;
        for (int i = 0; i < 20; i++) sum += big(i);
        byte[] data = new byte[500];
        for (int i = 0; i < data.length; i++) data[i] = (byte) (i * 7);
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        for (int i = 0; i < 5; i++) {
            sha.update(data);
            sum += sha.digest()[i];
        }
        CRC32 crc = new CRC32();
        for (int i = 0; i < 50; i++) {
            crc.update(data);
            crc.update(i);
        }
        sum += (int) crc.getValue();
        String text = Base64.getEncoder().encodeToString(data);
        sum += Base64.getDecoder().decode(text).length;
        for (int i = 0; i < 200; i++) {
            String s = i % 2 == 0 ? text.substring(0, 40) : "\u00e4\u4e2d" + i;
            byte[] utf = s.getBytes(StandardCharsets.UTF_8);
            sum += new String(utf, StandardCharsets.UTF_8).length() + s.getBytes(StandardCharsets.ISO_8859_1).length;
        }
        return sum;
    }

    static int measured() throws Exception {
        return body();
    }

    public static void main(String[] args) throws Exception {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Numbers " + measured());
    }
}
