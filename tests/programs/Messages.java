// Shows: the messages of NullPointerExceptions, in which HotSpot calls locals without a name by their slots.
// expect: Messages.elements(I)Ljava/lang/String; calls=300 thrown=0
class Messages {
    static int[] none(int i) {
        return i < 0 ? new int[1] : null;
    }

    static Object[][] rows(int i) {
        return i < 0 ? null : new Object[3][];
    }

    // The compiler keeps the array in a local that has no name.
    static String elements(int i) {
        try {
            long sum = 0;
            for (int element : none(i)) sum += element;
            return String.valueOf(sum);
        } catch (NullPointerException e) {
            return e.getMessage();
        }
    }

    static String nested(int i) {
        long wide = i;
        try {
            for (Object[] row : rows(i)) {
                for (Object element : row) wide += element.hashCode();
            }
            return String.valueOf(wide);
        } catch (NullPointerException e) {
            return e.getMessage();
        }
    }

    static String named(int i, String parameter) {
        int index = i & 1;
        String[] texts = new String[2];
        try {
            return texts[index].trim() + parameter.length();
        } catch (NullPointerException e) {
            return e.getMessage();
        }
    }

    static String last;

    static int measured() {
        int length = 0;
        for (int i = 0; i < 300; i++) {
            last = elements(i) + "; " + nested(i) + "; " + named(i, null);
            length += last.length();
        }
        return length;
    }

    public static void main(String[] args) {
        int length = measured();
        System.out.println("Messages " + length + " " + last);
    }
}
