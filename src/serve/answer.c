/* SPDX-License-Identifier: MIT */
#include "serve/answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

#define JSON_TYPE "application/json"

void answer_init(struct answer *answer)
{
    *answer = (struct answer){.status = HTTP_OK, .type = JSON_TYPE, .text = TEXT_IN_MEMORY};
    answer->json.out = &answer->text;
}

void answer_done(struct answer *answer)
{
    text_done(&answer->text);
}

int answer_error(struct answer *answer, unsigned status, const char *format, ...)
{
    struct json_writer *json = &answer->json;
    bool tsp = answer->tsp;
    char message[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    answer_done(answer);
    answer_init(answer);
    answer->tsp = tsp;
    answer->status = status;
    json_write_object(json);
    json_write_key(json, tsp ? "title" : "error");
    json_write_str(json, message);
    /* Viewers show what they also look for in an answer that succeeds. */
    if (tsp) {
        json_write_key(json, "status");
        json_write_str(json, "FAILED");
        json_write_key(json, "statusMessage");
        json_write_str(json, message);
    }
    json_write_end(json);
    return -EBADMSG;
}

int answer_failure(struct answer *answer, int r, const struct error *error)
{
    char message[sizeof error->path + sizeof error->what + 32];

    if (answer->status != HTTP_OK) /* it is answer_error()'s */
        return -EBADMSG;
    if (!error || !error->code)
        return answer_error(answer, HTTP_FAILED, "%s", error_text(r));
    error_print(error, message, sizeof message);
    return answer_error(answer, HTTP_FAILED, "%s", message);
}

void answer_put_text(struct json_writer *json, struct text *text)
{
    bool is_whole = text->start && !text->error;

    json_write_string(json, is_whole ? text->start : "", is_whole ? text_len(text) : 0);
    if (text->error)
        json->out->error = text->error;
    text_done(text);
}

bool answer_is_full(struct answer *answer)
{
    if (answer->status != HTTP_OK)
        return true;
    if (answer->text.error) {
        answer_error(answer, HTTP_FAILED, "out of memory");
        return true;
    }
    if (answer->text.start && text_len(&answer->text) > ANSWER_MAX) {
        answer_error(answer, HTTP_TOO_LARGE,
                     "the answer is larger than %zu MB; request less time, or fewer tracks",
                     ANSWER_MAX >> 20);
        return true;
    }
    return false;
}
