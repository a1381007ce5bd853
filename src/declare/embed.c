/* SPDX-License-Identifier: MIT */
/* A tool of the build: writes a file as a C array. embed INPUT OUTPUT NAME */
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *in = argc == 4 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    unsigned long n = 0;
    int c;

    if (!out) {
        fprintf(stderr, "embed: cannot open the files; usage: embed INPUT OUTPUT NAME\n");
        return 1;
    }
    fprintf(out, "#include <stddef.h>\nextern const char %s[];\nextern const size_t %s_len;\n",
            argv[3], argv[3]);
    fprintf(out, "const char %s[] = {", argv[3]);
    while ((c = getc(in)) != EOF)
        fprintf(out, n++ % 16 == 0 ? "\n%d," : "%d,", (signed char)c);
    fprintf(out, "0};\nconst size_t %s_len = %luu;\n", argv[3], n);
    return ferror(in) || fclose(out) != 0;
}
