// Shows: attaching that a SecurityManager refuses, and then allows (JDK 17 to 23). See tests/tests/whole/attach.rs.
// not-run
import java.security.Permission;

class Guarded {
    static volatile boolean refuses = true;

    static int request(int i) {
        return i + 1;
    }

    @SuppressWarnings("removal")
    static class Guard extends SecurityManager {
        @Override
        public void checkLink(String library) {
            if (refuses) throw new SecurityException("no " + library);
        }

        @Override
        public void checkPermission(Permission permission) {}
    }

    @SuppressWarnings("removal")
    public static void main(String[] args) throws java.io.IOException {
        System.setSecurityManager(new Guard());
        System.out.println("ready");
        // A line each: how many requests, after which nothing is refused any more.
        for (int c, n = 0; (c = System.in.read()) >= 0; ) {
            if (c != '\n') {
                n = 10 * n + c - '0';
                continue;
            }
            int sum = 0;
            for (int i = 0; i < n; i++) sum = request(sum);
            refuses = false;
            n = 0;
            System.out.println(sum);
        }
    }
}
