// Shows: nothing by itself: the JDK's own HTTP server, on a port that the system chooses, until its standard input ends. See tests/tests/whole/servers.rs.
// "/fib/N" answers the Nth Fibonacci number; with the argument "virtual" each request is served in a virtual thread. Each line read answers the port.
// not-run
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

class HttpServe {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static String page(int n) {
        return Integer.toString(fib(n));
    }

    static final class Fib implements HttpHandler {
        @Override
        public void handle(HttpExchange exchange) throws IOException {
            String path = exchange.getRequestURI().getPath();
            byte[] body = page(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1))).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        // Compiled for a JDK that has no virtual threads.
        ExecutorService threads = args.length > 0 && args[0].equals("virtual")
            ? (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
            : Executors.newFixedThreadPool(4);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/fib/", new Fib());
        server.setExecutor(threads);
        server.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        while (in.readLine() != null) System.out.println(server.getAddress().getPort());
        server.stop(0);
        threads.shutdownNow();
    }
}
