// Shows: more than 256 locals (wide loads, stores, iinc), iinc by more than a byte, long and double arithmetic, comparisons,
// shifts and conversions, multianewarray, arrays of every type, constants of every size.
// expect: Wide.manyLocals(I)I calls=2000 thrown=0
class Wide {
    static int manyLocals(int x) {
        int v0 = x, v1 = x, v2 = x, v3 = x, v4 = x, v5 = x, v6 = x, v7 = x, v8 = x, v9 = x, v10 = x, v11 = x, v12 = x, v13 = x, v14 = x, v15 = x, v16 = x, v17 = x, v18 = x, v19 = x, v20 = x, v21 = x, v22 = x, v23 = x, v24 = x, v25 = x, v26 = x, v27 = x, v28 = x, v29 = x, v30 = x, v31 = x, v32 = x, v33 = x, v34 = x, v35 = x, v36 = x, v37 = x, v38 = x, v39 = x, v40 = x, v41 = x, v42 = x, v43 = x, v44 = x, v45 = x, v46 = x, v47 = x, v48 = x, v49 = x, v50 = x, v51 = x, v52 = x, v53 = x, v54 = x, v55 = x, v56 = x, v57 = x, v58 = x, v59 = x, v60 = x, v61 = x, v62 = x, v63 = x, v64 = x, v65 = x, v66 = x, v67 = x, v68 = x, v69 = x, v70 = x, v71 = x, v72 = x, v73 = x, v74 = x, v75 = x, v76 = x, v77 = x, v78 = x, v79 = x, v80 = x, v81 = x, v82 = x, v83 = x, v84 = x, v85 = x, v86 = x, v87 = x, v88 = x, v89 = x, v90 = x, v91 = x, v92 = x, v93 = x, v94 = x, v95 = x, v96 = x, v97 = x, v98 = x, v99 = x, v100 = x, v101 = x, v102 = x, v103 = x, v104 = x, v105 = x, v106 = x, v107 = x, v108 = x, v109 = x, v110 = x, v111 = x, v112 = x, v113 = x, v114 = x, v115 = x, v116 = x, v117 = x, v118 = x, v119 = x, v120 = x, v121 = x, v122 = x, v123 = x, v124 = x, v125 = x, v126 = x, v127 = x, v128 = x, v129 = x;
        long w0 = x, w1 = x, w2 = x, w3 = x, w4 = x, w5 = x, w6 = x, w7 = x, w8 = x, w9 = x, w10 = x, w11 = x, w12 = x, w13 = x, w14 = x, w15 = x, w16 = x, w17 = x, w18 = x, w19 = x, w20 = x, w21 = x, w22 = x, w23 = x, w24 = x, w25 = x, w26 = x, w27 = x, w28 = x, w29 = x, w30 = x, w31 = x, w32 = x, w33 = x, w34 = x, w35 = x, w36 = x, w37 = x, w38 = x, w39 = x, w40 = x, w41 = x, w42 = x, w43 = x, w44 = x, w45 = x, w46 = x, w47 = x, w48 = x, w49 = x, w50 = x, w51 = x, w52 = x, w53 = x, w54 = x, w55 = x, w56 = x, w57 = x, w58 = x, w59 = x, w60 = x, w61 = x, w62 = x, w63 = x, w64 = x, w65 = x, w66 = x, w67 = x, w68 = x, w69 = x;
        double d = x;
        int last = v129;
        for (int i = 0; i < 3; i++) {
            last += 1;
            last += 1000;
            last -= 20000;
            w69 += last;
            d += w69;
        }
        return last + (int) w69 + (int) d + v3;
    }

    static long longs(long a, double d, long b, int s) {
        long r = a * b + (a << s) - (b >>> s) + (a >> 3) + (a ^ b) + (a | 7) + (~b & 255) - -a;
        if (a > b) r++;
        if (d > 3.5) r += 2;
        if (d < Double.NaN) r += 4;
        float f = (float) d;
        if (f >= 2f) r += (long) f;
        r += (int) d + (byte) a + (char) b + (short) s;
        return b == 0 ? r : r + a % b + a / b;
    }

    static int arrays(int n) {
        int[][][] cube = new int[n][2][3];
        long[][] open = new long[2][];
        boolean[] z = new boolean[n];
        byte[] b = new byte[n];
        char[] c = new char[n];
        short[] s = new short[n];
        float[] f = new float[n];
        double[] d = new double[n];
        String[][] names = new String[n][2];
        open[1] = new long[] {1L << 40, 2};
        for (int i = 0; i < n; i++) {
            cube[i][1][2] = i;
            z[i] = i % 2 == 0;
            b[i] = (byte) (i * 100);
            c[i] = (char) b[i];
            s[i] = (short) (c[i] + 300000);
            f[i] = s[i] * 0.5f;
            d[i] = f[i];
            names[i][1] = "x";
        }
        int sum = 0;
        for (int[][] plane : cube) for (int[] row : plane) for (int v : row) sum += v;
        return sum + (int) d[n - 1] + (z[0] ? 1 : 0) + names[0][1].length() + (int) open[1][1];
    }

    static int measured() {
        long sum = 0;
        for (int i = 0; i < 2000; i++) sum += manyLocals(i);
        for (int i = 0; i < 20000; i++) sum += longs(i, i * 0.25, i & 15, i & 31);
        for (int i = 1; i < 300; i++) sum += arrays(i & 7 | 1);
        return (int) (sum ^ sum >>> 32);
    }

    public static void main(String[] args) {
        System.out.println("Wide " + measured());
    }
}
