// Shows: nothing by itself: Tomcat on a port that the system chooses, until its standard input ends. See tests/tests/whole/servers.rs.
// "/fib/N" answers the Nth Fibonacci number. Each line read answers the port. The argument is a directory for Tomcat's own files.
// not-run
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

class TomcatServe {
    // Loggers that nobody holds are collected, with their levels.
    private static final Logger LOGGER = Logger.getLogger("org.apache");

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static String page(int n) {
        return Integer.toString(fib(n));
    }

    static final class Fib extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = page(Integer.parseInt(request.getPathInfo().substring(1))).getBytes(StandardCharsets.UTF_8);
            response.setContentType("text/plain");
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
        }
    }

    public static void main(String[] args) throws Exception {
        // It warns when randomness takes its time, and that it cannot look for leaks in java.base.
        LOGGER.setLevel(Level.SEVERE);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        Connector connector = new Connector();
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", "8");
        connector.setProperty("maxKeepAliveRequests", "-1");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", args[0]);
        Tomcat.addServlet(context, "fib", new Fib());
        context.addServletMappingDecoded("/fib/*", "fib");
        tomcat.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        while (in.readLine() != null) System.out.println(connector.getLocalPort());
        tomcat.stop();
        tomcat.destroy();
    }
}
