// Shows: a real program from Maven Central: ASM reads class files and writes them anew, with stack map frames of its own computing.
// alone
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class RealAsm {
    static byte[] read(String name) throws IOException {
        try (InputStream in = RealAsm.class.getResourceAsStream(name)) {
            return in.readAllBytes();
        }
    }

    static byte[] rewritten(byte[] classFile) {
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {
                    @Override
                    public void visitInsn(int opcode) {
                        if (opcode == Opcodes.IADD) super.visitInsn(Opcodes.NOP);
                        super.visitInsn(opcode);
                    }
                };
            }
        }, ClassReader.SKIP_FRAMES);
        return writer.toByteArray();
    }

    static long body(byte[][] classes) {
        CRC32 sum = new CRC32();
        for (byte[] each : classes) {
            byte[] once = rewritten(each);
            sum.update(once);
            sum.update(rewritten(once));
        }
        return sum.getValue();
    }

    static long measured(byte[][] classes) {
        return body(classes);
    }

    public static void main(String[] args) throws IOException {
        byte[][] classes = {read("RealAsm.class"), read("RealJson.class"), read("org/objectweb/asm/Edge.class")};
        body(classes); // loads and links
        System.out.println("RealAsm " + measured(classes));
    }
}
