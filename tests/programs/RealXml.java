// Shows: a real program: the JDK's XML parser reads a document, and its XSLT compiler compiles and runs a stylesheet over it.
// alone
// timing: java. jdk. sun.
import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

class RealXml {
    static final String STYLE = """
        <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
          <xsl:template match="/"><out><xsl:apply-templates select="//item[@price &gt; 20]"/></out></xsl:template>
          <xsl:template match="item"><p n="{position()}"><xsl:value-of select="concat(name, ': ', @price * 2)"/></p></xsl:template>
        </xsl:stylesheet>
        """;

    static String document() {
        StringBuilder xml = new StringBuilder("<?xml version='1.0'?><list>");
        for (int i = 0; i < 30; i++) xml.append("<item price='").append(i * 7 % 50).append("'><name>n").append(i).append("</name></item>");
        return xml.append("</list>").toString();
    }

    static int body() throws Exception {
        Document parsed = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(document())));
        StringWriter out = new StringWriter();
        TransformerFactory.newInstance().newTransformer(new StreamSource(new StringReader(STYLE)))
            .transform(new DOMSource(parsed), new StreamResult(out));
        return out.toString().hashCode();
    }

    static int measured() throws Exception {
        return body();
    }

    public static void main(String[] args) throws Exception {
        body(); // loads and links
        System.out.println("RealXml " + measured());
    }
}
