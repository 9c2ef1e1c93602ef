# What the compiler says of wrong programs.
cd /tmp
echo 'int main(void) { return undefined; }' > a.c; i386-tcc -c a.c; echo "status $?"
echo 'int main(void) { return 1 +; }' > b.c; i386-tcc -c b.c; echo "status $?"
echo '#include "none.h"' > c.c; i386-tcc -c c.c; echo "status $?"
i386-tcc -c none.c; echo "status $?"
i386-tcc -v | head -n 1
