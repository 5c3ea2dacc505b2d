/* settings.h - variables of the environment that a library reads at each call. */
#ifndef DUO_SETTINGS_H
#define DUO_SETTINGS_H

/*
 * Sets the variables of `settings`, "NAME=VALUE,NAME=VALUE"; NULL: none. Those of the call before
 * get their former values back first. `settings` must stay until the next call. Not for several
 * threads at once.
 */
void duo_settings_use(const char *settings);

#endif
