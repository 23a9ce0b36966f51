/* Put into SPIN's verifier, so that it answers the questions that are asked here.
 *
 * - A step that fails (a bad index, a division by zero, a block inside a d_step, a channel that is
 *   none, a poll of a rendez-vous channel, too many processes) ends its run, and counts as a step;
 *   SPIN goes on with arbitrary memory, or stops altogether.
 * - Each step is undone by copying back the state before it. SPIN undoes statement by statement,
 *   and wrongly so where a statement changes what its own undoing reads: a receive into a
 *   narrower variable, `c?x,eval(x)`, `c[x]?x`, `a[a[0]] = 1`.
 * - Messages are counted, each by itself.
 */
#include <setjmp.h>

static sigjmp_buf adversary_out;
static int adversary_inside, adversary_failed, adversary_looking;
static char **adversary_copies;
static long adversary_room;
static unsigned long adversary_failing;

#define ADVERSARY_KINDS 64
static struct { char text[160]; unsigned long count; } adversary_messages[ADVERSARY_KINDS];

static void
adversary_note(char *text)
{	int i;
	for (i = 0; i < ADVERSARY_KINDS - 1; i++)
		if (!adversary_messages[i].count
		|| !strncmp(adversary_messages[i].text, text, 150))
			break;
	strncpy(adversary_messages[i].text, text, 150);
	adversary_messages[i].count++;
}

/* Reports a failure, and leaves the step, if one is being made. */
static void
adversary_fail(char *text)
{	char long_text[200];
	if (adversary_inside < 0)
		return; /* undoing, see above */
	sprintf(long_text, "%s fails: %.100s", adversary_inside == 2 ? "claim" : "step", text);
	adversary_note(long_text);
	if (adversary_inside > 0)
		siglongjmp(adversary_out, 1);
}

static void
adversary_uerror(char *text)
{
	if (adversary_inside < 0)
		return;
	if (strstr(text, "uninitialized chan") || strstr(text, "poll rendezvous"))
		adversary_fail(text);
	errors++;
	adversary_note(text);
}

static void
adversary_Uerror(char *text)
{
	if (adversary_inside < 0)
		return;
	if (adversary_inside > 0)
		adversary_fail(text);
	adversary_note(text);
	wrapup();
}

static void
adversary_signal(int number)
{
	if (adversary_inside > 0)
		adversary_fail("arithmetic");
	_exit(99);
}

static void
adversary_catch(void)
{	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = adversary_signal;
	action.sa_flags = SA_NODEFER; /* the handler does not return */
	sigaction(SIGFPE, &action, 0);
}

static uchar
adversary_transit(Trans *t, short II)
{	static uchar *o_this;
	static int o_boq, o_size, k;
	static Svtack *o_svtack;
	uchar m;

	adversary_failed = adversary_looking = 0;
	if (depth + 2 > adversary_room)
	{	long room = 2 * depth + 1000;
		adversary_copies = realloc(adversary_copies, room * sizeof(char *));
		memset(adversary_copies + adversary_room, 0, (room - adversary_room) * sizeof(char *));
		adversary_room = room;
	}
	if (!adversary_copies[depth]
	|| ((long *) adversary_copies[depth])[0] < (long) vsize)
	{	free(adversary_copies[depth]);
		adversary_copies[depth] = malloc(sizeof(long) + vsize + 64);
		((long *) adversary_copies[depth])[0] = vsize + 64;
	}
	memcpy(adversary_copies[depth] + sizeof(long), (char *) &now, vsize);
	o_this = _this; o_boq = boq; o_size = vsize; o_svtack = svtack;
	if (sigsetjmp(adversary_out, 0))
	{	adversary_inside = 0;
		TstOnly = 0;
		for (k = o_size; k < (int) vsize; k++)
		{
#ifndef NOCOMP
			Mask[k] = 0;
#endif
			((char *) &now)[k] = 0;
		}
		vsize = o_size;
		memcpy((char *) &now, adversary_copies[depth] + sizeof(long), vsize);
		_this = o_this; boq = o_boq; svtack = o_svtack;
		adversary_failed = 1;
		adversary_failing++;
		return 0;
	}
#ifdef VERI
	adversary_inside = II == 0 ? 2 : 1;
#else
	adversary_inside = 1;
#endif
	m = do_transit(t, II);
	adversary_inside = 0;
	return m;
}

/* The channel that a rendez-vous receive is about. */
int
adversary_channel(int channel)
{
	if (!channel && boq == -1)
		adversary_fail("ref to uninitialized chan name");
	return channel;
}

/* Who waits at what is no channel is nobody that a message could be handed to. */
int
adversary_look(void)
{
	return adversary_looking = 1;
}

int
adversary_is_channel(int channel)
{	int is = channel && adversary_looking == 1;
	adversary_looking = 0;
	return is;
}

/* What a failing step means for the state that it was tried in. */
#ifdef HAS_UNLESS
#define ADVERSARY_ESCAPED(t)	trpt->e_state = (t)->e_trans;
#else
#define ADVERSARY_ESCAPED(t)
#endif
#define ADVERSARY_STEP_FAILED(t, n) \
	if (adversary_failed) \
	{	if (boq == -1) trpt->o_pm |= 1; \
		else (trpt+1)->o_m = 3; /* the sender has made a step */ \
		ADVERSARY_ESCAPED(t) \
		if ((n) < 3) (n) = 3; \
	}

static void
adversary_undone(long at)
{
	adversary_inside = 0;
	memcpy((char *) &now, adversary_copies[at] + sizeof(long), vsize);
}

static void
adversary_print(void)
{	int i;
	for (i = 0; i < ADVERSARY_KINDS && adversary_messages[i].count; i++)
		printf("ADVERSARY %lu %s\n", adversary_messages[i].count, adversary_messages[i].text);
	printf("ADVERSARY %lu failing steps\n", adversary_failing);
}

int Boundcheck(int x, int y, int a1, int a2, Trans *a3)
{
	if (x >= 0 && x < y)
		return x;
	if (adversary_looking)
		adversary_looking = 2;
	else
		adversary_fail("array index");
	return 0;
}
