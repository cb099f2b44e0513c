import java.io.IOException;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Lucene: an index of generated documents in memory, deletions, a merge, and queries of several kinds. */
public class TextSearch {
    private static final String[] WORDS = {
        "processor", "cache", "method", "cycle", "bytecode", "profile", "tree", "context", "counter", "exact", "hidden", "thread",
        "loop", "branch", "return", "stack",
    };

    public static void main(String[] args) throws IOException {
        try (ByteBuffersDirectory directory = new ByteBuffersDirectory(); StandardAnalyzer analyzer = new StandardAnalyzer()) {
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(analyzer).setMaxBufferedDocs(250))) {
                long seed = 7;
                for (int i = 0; i < 1500; i++) {
                    StringBuilder text = new StringBuilder();
                    for (int word = 0; word < 40; word++) {
                        seed = seed * 6364136223846793005L + 1442695040888963407L;
                        int draw = (int) (seed >>> 44);
                        text.append(WORDS[Math.min(draw % 16, draw / 16 % 16)]).append(' ');
                    }
                    Document document = new Document();
                    document.add(new StringField("id", "d" + i, Field.Store.YES));
                    document.add(new IntPoint("size", i % 97));
                    document.add(new TextField("text", text.toString(), Field.Store.NO));
                    writer.addDocument(document);
                }
                writer.deleteDocuments(new Term("id", "d13"), new Term("id", "d1300"));
                writer.forceMerge(1);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                System.out.println(reader.numDocs() + " documents in " + reader.leaves().size() + " segment");
                IndexSearcher searcher = new IndexSearcher(reader);
                search(searcher, new TermQuery(new Term("text", "stack")));
                search(searcher, new PhraseQuery(1, "text", "exact", "profile"));
                search(searcher, new WildcardQuery(new Term("text", "c*e")));
                search(searcher, new FuzzyQuery(new Term("text", "bracnh"), 2));
                search(searcher, new BooleanQuery.Builder()
                        .add(new TermQuery(new Term("text", "hidden")), BooleanClause.Occur.MUST)
                        .add(IntPoint.newRangeQuery("size", 10, 20), BooleanClause.Occur.FILTER)
                        .add(new TermQuery(new Term("text", "thread")), BooleanClause.Occur.MUST_NOT)
                        .build());
            }
        }
    }

    private static void search(IndexSearcher searcher, Query query) throws IOException {
        TopDocs found = searcher.search(query, 5);
        System.out.println(query + ": " + found.totalHits);
        for (ScoreDoc hit : found.scoreDocs) {
            System.out.println("  " + searcher.storedFields().document(hit.doc).get("id") + " " + hit.score);
        }
    }
}
