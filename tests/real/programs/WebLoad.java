import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/** The JDK's HTTP server under a bounded load from the JDK's HTTP client: 2000 requests, at most 16 at once. */
public class WebLoad {
    private static final int REQUESTS = 2000;
    private static final int AT_ONCE = 16;

    public static void main(String[] args) throws IOException, InterruptedException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        ExecutorService workers = Executors.newFixedThreadPool(4);
        Map<String, Integer> visits = new ConcurrentHashMap<>();
        server.setExecutor(workers);
        server.createContext("/square", exchange -> {
            long n = Long.parseLong(exchange.getRequestURI().getQuery());
            visits.merge("square", 1, Integer::sum);
            byte[] body = Long.toString(n * n).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.createContext("/echo", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            visits.merge("echo", 1, Integer::sum);
            exchange.getResponseHeaders().add("X-Length", Integer.toString(body.length));
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        String base = "http://" + server.getAddress().getHostString() + ":" + server.getAddress().getPort();
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        Semaphore places = new Semaphore(AT_ONCE);
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            places.acquire();
            HttpRequest request = i % 3 == 0
                    ? HttpRequest.newBuilder(URI.create(base + "/echo")).POST(HttpRequest.BodyPublishers.ofString("x".repeat(1 + i % 50))).build()
                    : HttpRequest.newBuilder(URI.create(base + (i % 7 == 0 ? "/nowhere" : "/square?" + i))).build();
            CompletableFuture<HttpResponse<String>> answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
            answer.whenComplete((response, failure) -> places.release());
            answers.add(answer);
        }
        Map<Integer, Integer> statuses = new TreeMap<>();
        long sum = 0;
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            HttpResponse<String> response = answer.join();
            statuses.merge(response.statusCode(), 1, Integer::sum);
            sum = sum * 31 + response.body().hashCode();
        }
        server.stop(0);
        workers.shutdown();
        System.out.println(statuses + " " + new TreeMap<>(visits) + " " + sum);
        // The client's selector thread ends only once the client is collected.
        System.exit(statuses.get(200) > 0 ? 42 : 1);
    }
}
