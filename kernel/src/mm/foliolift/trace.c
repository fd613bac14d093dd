// SPDX-License-Identifier: GPL-2.0
/* foliolift: the tracepoints' one home */
#include <linux/mm.h>
#include <linux/foliolift.h>

#define CREATE_TRACE_POINTS
#include <trace/events/foliolift.h>
