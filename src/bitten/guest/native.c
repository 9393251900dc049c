/* The guest's back door: preloaded, it lets the guest into a CPython whose flags or environment (-I, -E, -S, PYTHONPATH=.) shut the front one.
 * Knows no header of any Python: one library serves every CPython from 3.8 on. Never prints, never fails a program.
 *
 * It asks for audit events before main, and at the first `cpython.run_*`, when the interpreter is up and nothing of the program has run,
 * it has the front door's own code bring in the hook; where that is already in, nothing happens. Limits: an interpreter that hides its
 * symbols (frozen applications, a libpython loaded later) is not found; the loader ignores us in setuid programs, and says so on stderr
 * in 32-bit ones; a program built with ASan wants its own library first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int (*hook_of_audits)(const char *event, void *args, void *data);

static int (*run)(const char *code);
static int is_open;

/* In a namespace of its own: __main__ is the program's. */
static const char KNOCK[] =
    "exec('''\n"
    "try:\n"
    "    import sys\n"
    "    if '_bitten_hook' not in sys.modules:\n"
    "        import os\n"
    "        here = os.environ['BITTEN_DOOR']\n"
    "        door = type(sys)('_bitten_door')\n"
    "        door.__file__ = here + '/sitecustomize.py'\n"
    "        with open(door.__file__, 'rb') as file:\n"
    "            exec(compile(file.read(), door.__file__, 'exec', dont_inherit=True), door.__dict__)\n"
    "        door._invite(here)\n"
    "        sys.path[:] = [entry for entry in sys.path if entry != here]\n"
    "except Exception:\n"
    "    pass\n"
    "''', {'__name__': '_bitten_native'})\n";

static int heard(const char *event, void *args, void *data)
{
    (void)args, (void)data;
    if (!is_open && !strncmp(event, "cpython.run_", 12)) {
        is_open = 1;
        run(KNOCK);
    }
    return 0;
}

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

__attribute__((constructor)) static void knock(void)
{
    if (!getenv("BITTEN_SPOOL") || !getenv("BITTEN_DOOR"))
        return;
    int (*listen)(hook_of_audits, void *);
    *(void **)&listen = symbol("PySys_AddAuditHook");
    *(void **)&run = symbol("PyRun_SimpleString");
    if (listen && run)
        listen(heard, NULL);
}
