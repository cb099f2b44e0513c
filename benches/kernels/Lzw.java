package kernels;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;

/** Compresses generated text with LZW (Welch 1984; 12-bit codes, the table starts anew when full), and expands it again. */
final class Lzw implements Kernel {
    private static final int CODE_BITS = 12;
    private static final int TABLE_FULL = 1 << CODE_BITS;
    private static final int FIRST_FREE = 256;

    /** Packs codes of {@link #CODE_BITS} bits into bytes. */
    static final class BitWriter {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private int pending;
        private int bits;

        void code(int code) {
            pending = pending << CODE_BITS | code;
            bits += CODE_BITS;
            while (bits >= 8) {
                bits -= 8;
                out.write(pending >>> bits);
            }
        }

        byte[] finish() {
            if (bits > 0) {
                out.write(pending << 8 - bits);
            }
            return out.toByteArray();
        }
    }

    static final class BitReader {
        private final byte[] in;
        private int at;
        private int pending;
        private int bits;

        BitReader(byte[] in) {
            this.in = in;
        }

        /** The next code, or -1 at the end. */
        int code() {
            while (bits < CODE_BITS) {
                if (at == in.length) {
                    return -1;
                }
                pending = pending << 8 | in[at++] & 0xff;
                bits += 8;
            }
            bits -= CODE_BITS;
            return pending >>> bits & TABLE_FULL - 1;
        }
    }

    /** Open hashing of (prefix code, byte) to code. */
    static final class Dictionary {
        private final int[] keys = new int[4 * TABLE_FULL];
        private final short[] codes = new short[4 * TABLE_FULL];
        private int next;

        Dictionary() {
            clear();
        }

        void clear() {
            Arrays.fill(keys, -1);
            next = FIRST_FREE;
        }

        private int slot(int key) {
            int slot = key * 0x9E3779B1 >>> 18;
            while (keys[slot] != -1 && keys[slot] != key) {
                slot = slot + 1 & keys.length - 1;
            }
            return slot;
        }

        int find(int prefix, int symbol) {
            int slot = slot(prefix << 8 | symbol);
            return keys[slot] == -1 ? -1 : codes[slot];
        }

        boolean add(int prefix, int symbol) {
            int key = prefix << 8 | symbol;
            int slot = slot(key);
            keys[slot] = key;
            codes[slot] = (short) next++;
            return next < TABLE_FULL;
        }
    }

    private final byte[] text = generate(3 << 20);

    /** Words of a skewed distribution, so that there is something to compress. */
    private static byte[] generate(int length) {
        String[] words = {"count", "every", "call", "of", "the", "tree", "node", "a", "in", "loop", "cache", "block", "path"};
        StringBuilder text = new StringBuilder(length + 16);
        long seed = 12345;
        while (text.length() < length) {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            int draw = (int) (seed >>> 40) & 0xffff;
            text.append(words[(int) ((long) draw * draw / 0xffff) * words.length >>> 16]);
            text.append(draw % 11 == 0 ? '\n' : ' ');
        }
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) text.charAt(i);
        }
        return bytes;
    }

    static byte[] compress(byte[] text) {
        Dictionary dictionary = new Dictionary();
        BitWriter out = new BitWriter();
        int prefix = text[0] & 0xff;
        for (int i = 1; i < text.length; i++) {
            int symbol = text[i] & 0xff;
            int code = dictionary.find(prefix, symbol);
            if (code >= 0) {
                prefix = code;
                continue;
            }
            out.code(prefix);
            if (!dictionary.add(prefix, symbol)) {
                dictionary.clear();
            }
            prefix = symbol;
        }
        out.code(prefix);
        return out.finish();
    }

    static byte[] expand(byte[] packed, int length) {
        BitReader in = new BitReader(packed);
        byte[] out = new byte[length];
        int[] start = new int[TABLE_FULL];
        int[] size = new int[TABLE_FULL];
        int at = 0;
        int next = FIRST_FREE;
        int previousStart = 0;
        int previousSize = 0;
        for (int code = in.code(); code >= 0 && at < length; code = in.code()) {
            if (previousSize > 0) {
                // The entry is the previous string and the byte after it, which this code is about to write.
                start[next] = previousStart;
                size[next] = previousSize + 1;
                next++;
            }
            int begin = at;
            if (code < FIRST_FREE) {
                out[at++] = (byte) code;
            } else {
                for (int i = 0; i < size[code]; i++) {
                    out[at++] = out[start[code] + i];
                }
            }
            previousStart = begin;
            previousSize = at - begin;
            if (next == TABLE_FULL) {
                next = FIRST_FREE;
            }
        }
        return out;
    }

    @Override
    public long run() {
        byte[] packed = compress(text);
        byte[] back = expand(packed, text.length);
        if (!Arrays.equals(text, back)) {
            throw new IllegalStateException("expanding the compressed text did not give the text back");
        }
        return 31L * packed.length + Arrays.hashCode(packed);
    }
}
