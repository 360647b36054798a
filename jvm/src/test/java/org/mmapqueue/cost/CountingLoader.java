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

/** Loads the queue's classes once more, with {@link Counter} told of what they run, and {@link Work} with them. */
final class CountingLoader extends ClassLoader {
    private static final String OWN = "org/mmapqueue/";
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
                        return new Counting(super.visitMethod(access, name, descriptor, signature, exceptions));
                    }
                },
                0);
        return writer.toByteArray();
    }

    /** Adds up the instructions of a stretch of code, and tells of them where it ends: nothing jumps out or in. */
    private static final class Counting extends MethodVisitor {
        private int stretch;

        Counting(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        private void tell() {
            if (stretch > 0) {
                tell("add", stretch);
                stretch = 0;
            }
        }

        private void tell(String method, int number) {
            super.visitLdcInsn(number);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, COUNTER, method, "(I)V", false);
        }

        @Override
        public void visitLabel(Label label) {
            tell();
            super.visitLabel(label);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            stretch++;
            tell();
            super.visitJumpInsn(opcode, label);
        }

        @Override
        public void visitTableSwitchInsn(int min, int max, Label dflt, Label... labels) {
            stretch++;
            tell();
            super.visitTableSwitchInsn(min, max, dflt, labels);
        }

        @Override
        public void visitLookupSwitchInsn(Label dflt, int[] keys, Label[] labels) {
            stretch++;
            tell();
            super.visitLookupSwitchInsn(dflt, keys, labels);
        }

        @Override
        public void visitInsn(int opcode) {
            stretch++;
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN || opcode == Opcodes.ATHROW) {
                tell();
            }
            if (opcode == Opcodes.MONITORENTER) {
                tell("call", Counter.idOf("monitor.enter"));
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            stretch++;
            if (!owner.startsWith(OWN)) {
                tell("call", Counter.idOf(owner + "." + name));
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            stretch++;
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            stretch++;
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitVarInsn(int opcode, int variable) {
            stretch++;
            super.visitVarInsn(opcode, variable);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            stretch++;
            super.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            stretch++;
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitLdcInsn(Object value) {
            stretch++;
            super.visitLdcInsn(value);
        }

        @Override
        public void visitIincInsn(int variable, int increment) {
            stretch++;
            super.visitIincInsn(variable, increment);
        }

        @Override
        public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
            stretch++;
            super.visitMultiANewArrayInsn(descriptor, dimensions);
        }
    }
}
