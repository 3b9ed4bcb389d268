/* SPDX-License-Identifier: Apache-2.0
 * The application's own mbedTLS, which remembers who asked. */
int own_mbedtls_calls;

#define OWN(name)        \
  int name(void);        \
  int name(void) {       \
    ++own_mbedtls_calls; \
    return -1;           \
  }
OWN(mbedtls_ssl_init)
OWN(mbedtls_ssl_setup)
OWN(mbedtls_ssl_handshake)
OWN(mbedtls_ssl_read)
OWN(mbedtls_ssl_write)
OWN(mbedtls_ssl_conf_psk)
OWN(mbedtls_ctr_drbg_seed)
OWN(mbedtls_entropy_init)
