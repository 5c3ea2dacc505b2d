/* device.c - duo_device_count and duo_device_describe. */
#include "gpu/backend/devices.h"
#include "host/sized.h"

/* Every version has these fields. */
enum { LEAST = offsetof(duo_device_info, pcie_width) + sizeof(int) };

duo_status duo_device_count(int *number)
{
    const char *why;
    if (number == NULL) return DUO_ERR_NULL;
    *number = duo_devices(&why);
    return DUO_OK;
}

duo_status duo_device_describe(int device, duo_device_info *info)
{
    const char *why;
    if (info == NULL) return DUO_ERR_NULL;
    if (info->size < LEAST) return DUO_ERR_SIZE;
    if (device < 0 || device >= duo_devices(&why)) return DUO_ERR_DEVICE;
    duo_device_info found = {.size = sizeof found};
    const duo_status status = duo_backend_current()->describe(device, &found);
    if (status != DUO_OK) return DUO_ERR_DEVICE;
    duo_sized_give(info, &found, sizeof found);
    return DUO_OK;
}
