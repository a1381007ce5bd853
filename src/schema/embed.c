/* SPDX-License-Identifier: MIT */
/* A tool of the build: writes files as C arrays. embed OUTPUT NAME INPUT [NAME INPUT]… */
#include <stdio.h>

static int embed(const char *name, const char *input, FILE *out)
{
    FILE *in = fopen(input, "rb");
    unsigned long n = 0;
    int c, failed;

    if (!in) {
        fprintf(stderr, "embed: cannot open %s\n", input);
        return 1;
    }
    fprintf(out, "extern const char %s[];\nextern const size_t %s_len;\n", name, name);
    fprintf(out, "const char %s[] = {", name);
    while ((c = getc(in)) != EOF) {
        fputs(n++ % 16 == 0 ? "\n" : "", out);
        /* A char has a sign on some machines; its octal value has none on any. */
        fprintf(out, c < 128 ? "%d," : "'\\%o',", (unsigned)c);
    }
    fprintf(out, "0};\nconst size_t %s_len = %luu;\n", name, n);
    failed = ferror(in);
    fclose(in);
    return failed;
}

int main(int argc, char **argv)
{
    FILE *out = argc >= 4 && argc % 2 == 0 ? fopen(argv[1], "wb") : NULL;
    int failed = 0;

    if (!out) {
        fprintf(stderr, "usage: embed OUTPUT NAME INPUT [NAME INPUT]...\n");
        return 1;
    }
    fprintf(out, "#include <stddef.h>\n");
    for (int i = 2; i < argc; i += 2)
        failed |= embed(argv[i], argv[i + 1], out);
    return fclose(out) != 0 || failed;
}
