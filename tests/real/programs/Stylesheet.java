import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** The JDK's XSLT processor, which compiles a stylesheet to a Java class of its own making and runs it. */
public class Stylesheet {
    private static final String STYLE = "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
            + "<xsl:key name='by-kind' match='entry' use='@kind'/>"
            + "<xsl:template match='/log'><summary><xsl:for-each select='entry[generate-id() = generate-id(key(\"by-kind\", @kind)[1])]'>"
            + "<xsl:sort select='@kind'/><kind name='{@kind}' count='{count(key(\"by-kind\", @kind))}' sum='{sum(key(\"by-kind\", @kind)/@cost)}'/>"
            + "</xsl:for-each><xsl:apply-templates select='entry[position() mod 50 = 0]'/></summary></xsl:template>"
            + "<xsl:template match='entry'><xsl:choose><xsl:when test='@cost &gt; 50'><dear><xsl:value-of select='concat(@id, \":\", .)'/></dear></xsl:when>"
            + "<xsl:otherwise><cheap><xsl:value-of select='translate(., \"abc\", \"xyz\")'/></cheap></xsl:otherwise></xsl:choose></xsl:template>"
            + "</xsl:stylesheet>";

    public static void main(String[] args) throws TransformerException {
        StringBuilder log = new StringBuilder("<log>");
        for (int i = 0; i < 600; i++) {
            log.append("<entry id='").append(i).append("' kind='k").append(i * 7 % 5).append("' cost='").append(i * 37 % 101)
                    .append("'>abc ").append(i).append("</entry>");
        }
        log.append("</log>");
        Templates compiled = TransformerFactory.newInstance().newTemplates(new StreamSource(new StringReader(STYLE)));
        String result = "";
        for (int i = 0; i < 20; i++) {
            Transformer transformer = compiled.newTransformer();
            transformer.setOutputProperty(OutputKeys.INDENT, "yes");
            StringWriter out = new StringWriter();
            transformer.transform(new StreamSource(new StringReader(log.toString())), new StreamResult(out));
            result = out.toString();
        }
        System.out.println(result);
    }
}
