// Shows: a program that waits for its next line in a woven method, while cprof comes and leaves, and another thread takes address space all the while.
// not-run
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;

class Outlived {
    static final List<MappedByteBuffer> TAKEN = new ArrayList<>();

    static String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = System.in.read(); c >= 0; c = System.in.read()) {
            if (c == '\n') return line.toString();
            line.append((char) c);
        }
        return null;
    }

    static int work(String line) {
        int sum = 0;
        for (char c : line.toCharArray()) sum += c;
        return sum;
    }

    static void take(FileChannel file) {
        try {
            for (int i = 0; i < 100; i++) {
                TAKEN.add(file.map(FileChannel.MapMode.READ_ONLY, 0, 1 << 30));
                Thread.sleep(100);
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        RandomAccessFile file = new RandomAccessFile(args[0], "rw");
        file.setLength(1 << 30);
        Thread taker = new Thread(() -> take(file.getChannel()));
        taker.setDaemon(true);
        taker.start();
        System.out.println("ready");
        for (String line = line(); line != null; line = line()) System.out.println(work(line));
    }
}
