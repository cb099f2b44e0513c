import freemarker.template.Configuration;
import freemarker.template.Template;
import freemarker.template.TemplateException;
import freemarker.template.TemplateExceptionHandler;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** FreeMarker: macros, loops, built-ins and a missing value, rendered many times. */
public class Templates {
    private static final String PAGE = "<#macro row item depth>\n"
            + "${''?left_pad(depth * 2)}${item.name?cap_first}: ${item.price?string['0.00']}<#if item.parts?has_content> (${item.parts?size})</#if>\n"
            + "<#list item.parts as part><@row part depth + 1/></#list></#macro>\n"
            + "<#list items as item><@row item 0/></#list>\n"
            + "cheapest: ${(items?sort_by('price')?first).name}; names: ${items?map(i -> i.name?upper_case)?join(', ')}\n"
            + "<#attempt>${items[0].colour}<#recover>no colour</#attempt>\n";

    public static void main(String[] args) throws IOException, TemplateException {
        Configuration configuration = new Configuration(Configuration.VERSION_2_3_33);
        configuration.setTemplateExceptionHandler(TemplateExceptionHandler.RETHROW_HANDLER);
        configuration.setLogTemplateExceptions(false);
        configuration.setAttemptExceptionReporter((exception, environment) -> {});
        Template template = new Template("page", new StringReader(PAGE), configuration);
        Map<String, Object> model = new TreeMap<>();
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            items.add(item(i, i % 4));
        }
        model.put("items", items);
        int length = 0;
        for (int i = 0; i < 200; i++) {
            StringWriter out = new StringWriter();
            template.process(model, out);
            length += out.toString().length();
        }
        System.out.println(length);
        OutputStreamWriter out = new OutputStreamWriter(System.out);
        template.process(model, out);
        out.flush();
    }

    private static Map<String, Object> item(int number, int depth) {
        Map<String, Object> item = new TreeMap<>();
        item.put("name", "part-" + number);
        item.put("price", 3.5 * (number * 7 % 11) + depth);
        List<Object> parts = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            parts.add(item(number * 3 + i, depth - 1));
        }
        item.put("parts", parts);
        return item;
    }
}
