// Shows: a real program from Maven Central: Jackson's streaming parser reads a document, and its generator writes it again.
// alone
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;

class RealJson {
    // The table of field names has a seed drawn at start.
    static final JsonFactory FACTORY = JsonFactory.builder().disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES).build();

    static String document() {
        StringBuilder json = new StringBuilder("[");
        for (int i = 0; i < 25; i++) {
            json.append(i == 0 ? "" : ", ").append("{\"id\": ").append(i * 12345).append(", \"name\": \"caf\\u00e9 \\\"").append(i);
            json.append("\\\"\", \"price\": ").append(i).append(".").append(i * 7 % 100).append("e").append(i % 5 - 2);
            json.append(", \"tags\": [true, false, null, [], {}], \"text\": \"\u20ac\\n\\t\"}");
        }
        return json.append("]").toString();
    }

    static String copied(String json) throws IOException {
        StringWriter out = new StringWriter();
        double sum = 0;
        try (JsonParser parser = FACTORY.createParser(json); JsonGenerator generator = FACTORY.createGenerator(out)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token == JsonToken.VALUE_NUMBER_FLOAT) sum += parser.getDoubleValue();
                generator.copyCurrentEvent(parser);
            }
        }
        return out.append(' ').append(Double.toString(sum)).toString();
    }

    static String broken(String json) throws IOException {
        try {
            return copied(json.substring(0, json.length() / 2));
        } catch (JsonParseException e) {
            return e.getOriginalMessage();
        }
    }

    static int body() throws IOException {
        String json = document();
        return copied(json).hashCode() * 31 + broken(json).hashCode();
    }

    static int measured() throws IOException {
        return body();
    }

    public static void main(String[] args) throws IOException {
        body(); // loads and links
        System.out.println("RealJson " + measured());
    }
}
