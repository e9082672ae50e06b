# SPDX-License-Identifier: BSD-3-Clause
"""What miniapps/cosmology is compared with, written anew: the transfer function of Eisenstein and
Hu, the growth of perturbations as a differential equation, power spectra by NumPy's transforms, and
gas in photo-ionisation equilibrium. Lengths are in Mpc without a factor of h.
"""

from dataclasses import dataclass

import numpy as np

MPC = 3.0856775814913673e24  # cm
G = 6.67430e-8  # cm^3 / (g s^2)
SUN = 1.32712440e26 / G  # g
HYDROGEN = 1.00782503190 * 1.66053906660e-24  # g


def runge_kutta(slope, start, end, state, intervals):
    """The state at `end`, by the classical method of fourth order."""
    step = (end - start) / intervals
    for x in start + step * np.arange(intervals):
        k1 = slope(x, state)
        k2 = slope(x + step / 2, state + step / 2 * k1)
        k3 = slope(x + step / 2, state + step / 2 * k2)
        k4 = slope(x + step, state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@dataclass(frozen=True)
class Cosmology:
    omega_m: float = 0.3111
    omega_b: float = 0.0490
    h: float = 0.6766
    tilt: float = 0.9665
    sigma_8: float = 0.8102

    def expansion(self, a):
        """H/H0."""
        return np.sqrt(self.omega_m / a**3 + 1 - self.omega_m)

    def critical(self):
        """Critical density today, g/cm^3."""
        return 3 * (1e7 * self.h / MPC) ** 2 / (8 * np.pi * G)

    def growth(self, a, intervals=4000):
        """D and dlnD/dlna, from D'' + (2 + dlnE/dlna) D' = 3/2 Omega_m(a) D in ln a."""

        def slope(x, state):
            matter = self.omega_m * np.exp(-3 * x) / self.expansion(np.exp(x)) ** 2
            return np.array([state[1], 1.5 * matter * state[0] - (2 - 1.5 * matter) * state[1]])

        early = np.array([1e-4, 1e-4])  # where all is matter, and D = a
        now = runge_kutta(slope, np.log(1e-4), np.log(a), early, intervals)
        today = runge_kutta(slope, np.log(1e-4), 0.0, early, intervals)
        return now[0] / today[0], now[1] / now[0]

    def transfer(self, k):
        """Eisenstein and Hu 1998, section 3, for wave numbers in 1/Mpc."""
        om, ob = self.omega_m * self.h**2, self.omega_b * self.h**2
        fb, fc = ob / om, 1 - ob / om
        t = 2.7255 / 2.7
        z_eq, k_eq = 2.5e4 * om / t**4, 0.0746 * om / t**2
        z_d = 1291 * om**0.251 / (1 + 0.659 * om**0.828)
        z_d *= 1 + 0.313 * om**-0.419 * (1 + 0.607 * om**0.674) * ob ** (0.238 * om**0.223)
        r_d, r_eq = (31.5 * ob / t**4 * 1000 / z for z in (z_d, z_eq))
        s = np.log((np.sqrt(1 + r_d) + np.sqrt(r_d + r_eq)) / (1 + np.sqrt(r_eq)))
        s *= 2 / (3 * k_eq) * np.sqrt(6 / r_eq)
        silk = 1.6 * ob**0.52 * om**0.73 * (1 + (10.4 * om) ** -0.95)
        alpha_c = ((46.9 * om) ** 0.670 * (1 + (32.1 * om) ** -0.532)) ** -fb
        alpha_c *= ((12.0 * om) ** 0.424 * (1 + (45.0 * om) ** -0.582)) ** -(fb**3)
        beta_c = 1 + 0.944 / (1 + (458 * om) ** -0.708) * (fc ** ((0.395 * om) ** -0.0266) - 1)
        beta_c = 1 / beta_c
        y = (1 + z_eq) / (1 + z_d)
        alpha_b = np.log((np.sqrt(1 + y) + 1) / (np.sqrt(1 + y) - 1))
        alpha_b = y * (-6 * np.sqrt(1 + y) + (2 + 3 * y) * alpha_b)
        alpha_b *= 2.07 * k_eq * s * (1 + r_d) ** -0.75
        beta_b = 0.5 + fb + (3 - 2 * fb) * np.sqrt((17.2 * om) ** 2 + 1)
        q = k / (13.41 * k_eq)

        def shape(alpha, beta):
            log = np.log(np.e + 1.8 * beta * q)
            return log / (log + (14.2 / alpha + 386 / (1 + 69.9 * q**1.08)) * q**2)

        f = 1 / (1 + (k * s / 5.4) ** 4)
        cold = f * shape(1, beta_c) + (1 - f) * shape(alpha_c, beta_c)
        s_tilde = s * (1 + (8.41 * om**0.435 / (k * s)) ** 3) ** (-1 / 3)
        waves = alpha_b / (1 + (beta_b / (k * s)) ** 3) * np.exp(-((k / silk) ** 1.4))
        baryons = (shape(1, 1) / (1 + (k * s / 5.2) ** 2) + waves) * np.sinc(k * s_tilde / np.pi)
        return fb * baryons + fc * cold

    def power(self, k):
        """Linear power today, Mpc^3."""
        fine = np.geomspace(1e-6, 1e3, 200_001)
        x = fine * 8 / self.h
        window = 3 * (np.sin(x) - x * np.cos(x)) / x**3
        window[x < 1e-2] = 1
        integrand = fine ** (3 + self.tilt) * self.transfer(fine) ** 2 * window**2 / (2 * np.pi**2)
        variance = np.sum((integrand[1:] + integrand[:-1]) / 2 * np.diff(np.log(fine)))
        return self.sigma_8**2 / variance * k**self.tilt * self.transfer(k) ** 2


def wave_numbers(cells, length):
    """Integers along each axis and |k| of the modes that numpy.fft.rfftn gives."""
    n = np.fft.fftfreq(cells, 1 / cells)
    axes = np.meshgrid(n, n, np.arange(cells // 2 + 1), indexing="ij")
    return axes, 2 * np.pi / length * np.sqrt(sum(axis**2 for axis in axes))


def density_contrast(position, cells, length):
    """Clouds in cells, then a transform in which their window is divided out, at k in Mpc^-1."""
    place = position / (length / cells) - 0.5
    low = np.floor(place).astype(int)
    part = place - low
    grid = np.zeros(cells**3)
    for corner in np.ndindex(2, 2, 2):
        index = np.mod(low + corner, cells)
        weight = np.prod(np.where(corner, part, 1 - part), axis=1)
        flat = np.ravel_multi_index(tuple(index.T), (cells,) * 3)
        grid += np.bincount(flat, weight, cells**3)
    grid = grid.reshape((cells,) * 3) * cells**3 / len(position)
    axes, k = wave_numbers(cells, length)
    window = np.prod([np.sinc(axis / cells) ** 2 for axis in axes], axis=0)
    return np.fft.rfftn(grid) / window, k


def recombination(temperature):
    """Case A, cm^3/s: Hui and Gnedin 1997."""
    x = 315614 / temperature
    return 1.269e-13 * x**1.503 / (1 + (x / 0.522) ** 0.470) ** 1.923


def lattice_growth(cosmology, factor, start, end, steps=800):
    """By what linear displacements of a lattice grow if gravity acts on them `factor` times as
    strongly as it should, having grown as they should until the scale factor `start`."""

    def slope(x, state):
        matter = cosmology.omega_m * np.exp(-3 * x) / cosmology.expansion(np.exp(x)) ** 2
        pull = 1.5 * matter * factor * state[0] - (2 - 1.5 * matter) * state[1]
        return np.array([state[1], pull])

    rate = cosmology.growth(start)[1]
    state = np.array([np.ones_like(factor), rate * np.ones_like(factor)])
    return runge_kutta(slope, np.log(start), np.log(end), state, steps)[0]
