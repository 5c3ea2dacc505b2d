/* settings.h - variables of the environment that a library reads at each call. */
#ifndef DUO_SETTINGS_H
#define DUO_SETTINGS_H

/*
 * Sets the variables that `settings` names: "NAME=VALUE,NAME=VALUE"; NULL: none. First it undoes
 * the call before it. `settings` must stay until the next call. Only one thread may call.
 */
void duo_settings_use(const char *settings);

#endif
