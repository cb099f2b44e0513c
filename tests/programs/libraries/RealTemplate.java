// Shows: a real program from Maven Central: FreeMarker parses a template and fills it with lists, maps and beans.
// alone
import freemarker.template.Configuration;
import freemarker.template.Template;
import freemarker.template.TemplateException;
import freemarker.template.TemplateExceptionHandler;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

public class RealTemplate {
    static final String SOURCE = """
        <#macro row item><tr><td>${item.name?upper_case?html}</td><td>${item.price?string("0.00")}</td></tr></#macro>
        <#assign total = 0>
        <#list items as item>
          <#if item.price gt 20><@row item=item/><#assign total = total + item.price><#else>-</#if>
        </#list>
        ${total} <#list names?keys?sort as key>${key}=${names[key]!"none"}<#sep>, </#list>
        <#attempt>${missing.field}<#recover>recovered</#attempt>
        """;

    public record Item(String name, int price) {
        public String getName() {
            return name;
        }

        public int getPrice() {
            return price;
        }
    }

    static Configuration configuration() {
        Configuration configuration = new Configuration(Configuration.VERSION_2_3_33);
        configuration.setLocale(Locale.ROOT);
        configuration.setLogTemplateExceptions(false);
        configuration.setAttemptExceptionReporter((exception, environment) -> { });
        configuration.setTemplateExceptionHandler(TemplateExceptionHandler.RETHROW_HANDLER);
        return configuration;
    }

    static int body(Configuration configuration) throws IOException, TemplateException {
        List<Item> items = new ArrayList<>();
        Map<String, Object> names = new TreeMap<>();
        for (int i = 0; i < 12; i++) {
            items.add(new Item("<n" + i + ">", i * 7 % 50));
            names.put("k" + i, i % 3 == 0 ? null : i);
        }
        StringWriter out = new StringWriter();
        new Template("page", new StringReader(SOURCE), configuration).process(Map.of("items", items, "names", names), out);
        return out.toString().hashCode();
    }

    static int measured(Configuration configuration) throws IOException, TemplateException {
        return body(configuration);
    }

    public static void main(String[] args) throws IOException, TemplateException {
        Configuration configuration = configuration();
        body(configuration); // loads and links
        System.out.println("RealTemplate " + measured(configuration));
    }
}
