package org.mmapqueue.cost;

import java.io.IOException;
import java.io.InputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Loads the queue's classes again, with calls of {@link Counter} in their code, and {@link Work} with them. The calls of
 * the ticker are not counted: a push wakes its thread if the push before was 0.1 s ago, as on a busy machine.
 */
final class CountingLoader extends ClassLoader {
    private static final String OWN = "org/mmapqueue/";
    private static final String TICKER = OWN + "concurrent/Ticker";
    private static final String COUNTER = Counter.class.getName().replace('.', '/');

    CountingLoader() {
        super(CountingLoader.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        boolean isWork = name.startsWith(Work.class.getName());
        if (!name.startsWith(OWN.replace('/', '.')) || name.equals(Counter.class.getName())) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                byte[] code = isWork ? bytes : counting(bytes);
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static byte[] counting(byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String descriptor, String signature, String[] exceptions) {
                        return new Counting(
                                super.visitMethod(access, name, descriptor, signature, exceptions),
                                !reader.getClassName().equals(TICKER));
                    }
                },
                0);
        return writer.toByteArray();
    }

    /** Sums the instructions of each basic block, and reports them at its end. */
    private static final class Counting extends MethodVisitor {
        private final boolean countsCalls;
        private int block;

        Counting(MethodVisitor next, boolean countsCalls) {
            super(Opcodes.ASM9, next);
            this.countsCalls = countsCalls;
        }

        private void report() {
            if (block > 0) {
                report("add", block);
                block = 0;
            }
        }

        private void report(String method, int number) {
            super.visitLdcInsn(number);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, COUNTER, method, "(I)V", false);
        }

        @Override
        public void visitLabel(Label label) {
            report();
            super.visitLabel(label);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            block++;
            report();
            super.visitJumpInsn(opcode, label);
        }

        @Override
        public void visitTableSwitchInsn(int min, int max, Label dflt, Label... labels) {
            block++;
            report();
            super.visitTableSwitchInsn(min, max, dflt, labels);
        }

        @Override
        public void visitLookupSwitchInsn(Label dflt, int[] keys, Label[] labels) {
            block++;
            report();
            super.visitLookupSwitchInsn(dflt, keys, labels);
        }

        @Override
        public void visitInsn(int opcode) {
            block++;
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN || opcode == Opcodes.ATHROW) {
                report();
            }
            if (opcode == Opcodes.MONITORENTER) {
                report("call", Counter.idOf("monitor.enter"));
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            block++;
            if (countsCalls && !owner.startsWith(OWN)) {
                report("call", Counter.idOf(owner + "." + name));
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            block++;
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            block++;
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitVarInsn(int opcode, int variable) {
            block++;
            super.visitVarInsn(opcode, variable);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            block++;
            super.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            block++;
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitLdcInsn(Object value) {
            block++;
            super.visitLdcInsn(value);
        }

        @Override
        public void visitIincInsn(int variable, int increment) {
            block++;
            super.visitIincInsn(variable, increment);
        }

        @Override
        public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
            block++;
            super.visitMultiANewArrayInsn(descriptor, dimensions);
        }
    }
}
